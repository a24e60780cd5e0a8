import type { Config } from "../../accounts/config.ts";
import { rosterReader } from "../../accounts/roster.ts";
import type { Io } from "../../commands/io.ts";
import { openStored } from "../../commands/stored.ts";
import { done, type Result } from "../../output/result.ts";
import { readMetrics, registryOf } from "./registry.ts";

/**
 * `status --format prometheus`: prints what is stored in the format of Prometheus.
 */
export async function metricsCommand(config: Config, io: Io): Promise<Result> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  const question = { readRoster: rosterReader(config), limits: config.healthLimits };
  const text = await registryOf(db && (await readMetrics(db, question))).metrics();
  return done(text.trimEnd());
}
