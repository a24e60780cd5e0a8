import { existsSync } from "node:fs";
import type { Database } from "../../db/connect.ts";
import { mayWrite } from "../../db/reader-role.ts";
import { formatCounted } from "../../output/format.ts";
import { readKeys } from "../../serve/keys/key-file.ts";
import { type Check, checked, ok } from "./check.ts";

const name = "serve";

/**
 * Checks of serving, if there are keys: whether their file is safe, and what a server may do in the
 * database.
 */
export async function checkServing(
  keysFile: string,
  isEmbedded: boolean,
  db: Database | undefined,
): Promise<readonly Check[]> {
  if (!existsSync(keysFile)) return [];
  const keys = await checked(name, async () =>
    ok(name, `${formatCounted(readKeys(keysFile).length, "key")}, readable by their owner only`),
  );
  const role =
    db && (await checked(name, async () => roleCheck(!isEmbedded && (await mayWrite(db)))));
  return role === undefined ? [keys] : [keys, role];
}

const roleCheck = (isWriter: boolean): Check =>
  isWriter
    ? {
        status: "warn",
        name,
        found:
          "with this DATABASE_URL serve would run as a database user who may write, and it only " +
          "needs to read",
        remedy:
          "give serve the address of a user who may only select, such as the analyst under " +
          "Roles in docs/operations.md",
      }
    : ok(name, "its database user may only select");
