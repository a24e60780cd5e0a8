import { stat } from "node:fs/promises";
import { DatabaseError } from "../../errors.ts";
import { type Account, otherDatabase, run } from "./embedded-tools.ts";

const accountName = "postgres";
const accountLookupsMax = 5;

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
    `Postgres does not run as root, and the user ${accountName} neither exists nor can be created: run bill-sync as an ordinary user, or ${otherDatabase}`,
  );
}

/** Asks the system itself, as the account: modes alone do not know of ACLs and mounts. */
export async function canUse(account: Account, path: string): Promise<boolean> {
  const answer = await run("sh", ["-c", 'test -r "$0" && test -x "$0"', path], account);
  return answer.ok;
}
