import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Binaries } from "../../src/wings/embedded/binaries.ts";

/** The newest Postgres of another major version among this machine's packages, if any. */
export function otherPostgres(
  bundledMajor: string,
): (Binaries & { readonly major: string }) | undefined {
  const found = globSync("/usr/lib/postgresql/*/bin/initdb")
    .map((initdb) => ({ initdb, major: initdb.split("/")[4] ?? "" }))
    .filter(
      ({ initdb, major }) => major !== bundledMajor && existsSync(join(dirname(initdb), "pg_ctl")),
    )
    .toSorted((a, b) => Number(b.major) - Number(a.major));
  const [newest] = found;
  return newest && { ...newest, pgCtl: join(dirname(newest.initdb), "pg_ctl") };
}
