import { readConfig } from "../../src/accounts/config.ts";
import { openDatabase } from "../../src/core/postgres/connect.ts";
import { Secret } from "../../src/lib/secret.ts";
import { Queue } from "../../src/wings/fleet/queue.ts";
import { enqueueAccounts } from "../../src/wings/fleet/worker.ts";

/** Queues every account once, as a worker's round does. */
export async function queueAccounts(env: Record<string, string>): Promise<string> {
  const config = readConfig(env, { credentials: false });
  const url = new Secret(env["DATABASE_URL"] ?? "");
  await using open = openDatabase(url.reveal());
  await using queue = await Queue.open({ url, supervises: false, onTrouble: () => undefined });
  return await enqueueAccounts(open.db, queue, config);
}
