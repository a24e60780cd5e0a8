import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export type SyncJob = {
  readonly databaseUrl: string;
  readonly exchangeUrl: string;
  readonly accounts: number;
  readonly productTypesEach: number;
};

export type SyncResult = {
  readonly new: number;
  readonly unchanged: number;
  readonly requests: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly maxRssMiB: number;
};

const script = fileURLToPath(new URL("sync-process.ts", import.meta.url));

// As npm run starts the program. Where the heap may grow to 2 GiB and more, V8 lets it become four
// times what is alive before it collects, below that twice; the nursery it takes by itself is twice
// as large. A backfill has 175 MiB resident so, and 280 without.
const fastStart = new URL("../../src/fast-start.js", import.meta.url).href;

/** Runs the sync in a process of its own. @throws where it is not complete. */
export async function syncProcess(job: SyncJob): Promise<SyncResult> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    "--max-semi-space-size=16",
    "--max-old-space-size=2000",
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
