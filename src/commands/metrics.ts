import { readReachable } from "../db/citus.ts";
import type { Database } from "../db/connect.ts";
import {
  type ReachableMetrics,
  readMetrics,
  readReachableMetrics,
  registryOf,
} from "../metrics/registry.ts";
import { unreachableLines } from "../output/unreachable-text.ts";
import type { Config } from "../roster/config.ts";
import { everyName } from "../roster/reachable.ts";
import { rosterReader } from "../roster/roster.ts";
import { fileOutput, refuseTakenOutput, standardOutput } from "./export/export-output.ts";
import { type ExitCode, type Io, tell } from "./io.ts";
import { openStored } from "./stored.ts";

// node_exporter runs as another user.
const readableByAll = 0o644;

/**
 * `status --format prometheus`: writes what is stored in the format of Prometheus. The exit code is 1 where accounts
 * had to be left out.
 * @param output the file to replace; undefined or - for standard output.
 */
export async function metricsCommand(
  config: Config,
  io: Io,
  { output: path = "-" }: { readonly output?: string | undefined },
): Promise<ExitCode> {
  const shown = `--output ${path}`;
  const isFile = path !== "-";
  if (isFile) await refuseTakenOutput(path, true, shown);
  await using stored = await openStored(config, io);
  const { registry, unreachable } =
    stored.db === undefined
      ? { registry: registryOf(), unreachable: [] }
      : await readStored(stored.db, config);
  const text = await registry.metrics();
  await using output = isFile
    ? await fileOutput(path, { shown, mode: readableByAll })
    : standardOutput(io, (words) => words);
  await output.write(text);
  await output.commit();
  for (const line of unreachableLines(unreachable)) tell(io, `left out: ${line}`);
  return unreachable.length === 0 ? 0 : 1;
}

const readStored = (db: Database, config: Config): Promise<ReachableMetrics> =>
  readReachableMetrics(
    (read) => readReachable(db, () => everyName(db, config), read),
    (accounts) =>
      readMetrics(db, {
        readRoster: rosterReader(config),
        limits: config.healthLimits,
        accounts,
      }),
  );
