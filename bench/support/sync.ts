import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeFlags } from "./node-flags.ts";

type SyncJob = {
  readonly databaseUrl: string;
  readonly exchangeUrl: string;
  readonly accounts: number;
  readonly productTypesEach: number;
};

type SyncResult = {
  readonly new: number;
  readonly unchanged: number;
  readonly requests: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly maxRssMiB: number;
};

const script = fileURLToPath(new URL("sync-process.ts", import.meta.url));

const fastStart = new URL("../../src/fast-start.js", import.meta.url).href;

/**
 * Runs the sync in a process of its own.
 * @throws if the sync is not complete.
 */
export async function syncProcess(job: SyncJob): Promise<SyncResult> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...nodeFlags,
    "--import",
    fastStart,
    script,
    JSON.stringify(job),
  ]);
  const result: SyncResult & { readonly errors: number } = JSON.parse(stdout);
  if (result.errors > 0)
    throw new Error(`the sync failed ${result.errors} times: ${stderr.slice(0, 2_000)}`);
  return result;
}
