import { type ExitCode, type Io, tell } from "../app/io.ts";
import { readableStreams } from "../app/readable.ts";
import type { Config } from "../config/config.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { readMetrics } from "../metrics/read-metrics.ts";
import { registryOf } from "../metrics/registry.ts";
import { fileOutput, refuseTakenOutput, standardOutput } from "./export/export-output.ts";

// node_exporter runs as another user.
const readableByAll = 0o644;

/**
 * `metrics`: writes what is stored in the format of Prometheus.
 * @param textfile the file to replace; undefined or - for standard output.
 */
export async function metricsCommand(
  config: Config,
  io: Io,
  { textfile = "-" }: { readonly textfile?: string },
): Promise<ExitCode> {
  const shown = `--textfile ${textfile}`;
  const isFile = textfile !== "-";
  if (isFile) await refuseTakenOutput(textfile, true, shown);
  await using database = await openCommandDatabase(config.database, (message) => tell(io, message));
  const { db } = database;
  const registry = (await hasSchema(db))
    ? await readMetrics(db, {
        configured: (states) => readableStreams(config, states),
        settleLagMs: config.settleLagMs,
      })
    : registryOf();
  const text = await registry.metrics();
  await using output = isFile
    ? await fileOutput(textfile, { shown, mode: readableByAll })
    : standardOutput(io, (words) => words);
  await output.write(text);
  await output.commit();
  return 0;
}
