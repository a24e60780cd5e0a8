import { type ExitCode, type Io, tell } from "../app/io.ts";
import { knownStreams } from "../app/readable.ts";
import { everyLedger } from "../app/selection.ts";
import type { Config } from "../config/config.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import type { Database } from "../db/connect.ts";
import { readSyncedStreams } from "../db/ledger/checkpoints.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { registryOf } from "../metrics/registry.ts";
import { type Observations, readObservations } from "../reports/observations.ts";
import { fileOutput, refuseTakenOutput, standardOutput } from "./export/export-output.ts";

// node_exporter runs as another user.
const readableByAll = 0o644;

/**
 * `metrics`: what is stored, as Prometheus reads it.
 * @param textfile replaced whole; undefined, or -, for standard output.
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
  const text = await registryOf(await observe(database.db, config)).metrics();
  await using output = isFile
    ? await fileOutput(textfile, { shown, mode: readableByAll })
    : standardOutput(io, (words) => words);
  await output.write(text);
  await output.commit();
  return 0;
}

/** Undefined before the first migration. */
async function observe(db: Database, config: Config): Promise<Observations | undefined> {
  if (!(await hasSchema(db))) return undefined;
  const stored = await readSyncedStreams(db);
  const states = await readAccountStates(db);
  const streams = knownStreams(everyLedger, config, { stored, states });
  return readObservations(db, streams, config.settleLagMs);
}
