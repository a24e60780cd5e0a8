import type { Config } from "../../accounts/config.ts";
import { everyLedger, rosterReader } from "../../accounts/roster.ts";
import { readSelected } from "../../accounts/to-read.ts";
import { type Io, note } from "../../commands/io.ts";
import { openStored } from "../../commands/stored.ts";
import { unreachableLines } from "../../output/account-remarks.ts";
import { done, type Result } from "../../output/result.ts";
import { readMetrics, registryOf } from "./registry.ts";

/**
 * `status --format prometheus`: prints what is stored in the format of Prometheus. The exit code is 1 where
 * accounts had to be left out.
 */
export async function metricsCommand(config: Config, io: Io): Promise<Result> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  const question = { readRoster: rosterReader(config), limits: config.healthLimits };
  const { result, unreachable } = await readSelected(
    db,
    config,
    everyLedger,
    async (accounts) => db && readMetrics(db, { ...question, accounts }),
  );
  for (const line of unreachableLines(unreachable)) note(io, `left out: ${line}`);
  const text = await registryOf(result, unreachable.length).metrics();
  return { ...done(text.trimEnd()), exit: unreachable.length === 0 ? 0 : 1 };
}
