import { enqueueAccounts } from "../../src/commands/worker.ts";
import { openDatabase } from "../../src/db/connect.ts";
import { Queue } from "../../src/fleet/queue.ts";
import { readConfig } from "../../src/roster/config.ts";
import { Secret } from "../../src/secret.ts";

/** Queues every account once, as a worker's round does. */
export async function queueAccounts(env: Record<string, string>): Promise<string> {
  const config = readConfig(env, { credentials: false });
  const url = new Secret(env["DATABASE_URL"] ?? "");
  await using open = openDatabase(url.reveal());
  await using queue = await Queue.open({ url, supervises: false, onTrouble: () => undefined });
  return await enqueueAccounts(open.db, queue, config);
}
