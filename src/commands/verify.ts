import { randomUUID } from "node:crypto";
import { migrate } from "../db/migrate.ts";
import type { CommandDatabase } from "../db/open.ts";
import { UsageError } from "../errors.ts";
import type { Config } from "../roster/config.ts";
import type { Interval } from "../sync/intervals.ts";
import { typedTime } from "./export-options.ts";
import { answer, type ExitCode, type Io, note } from "./io.ts";
import { type LoggedEnd, loggedRun } from "./logged-run.ts";
import { type Define, narrowedConfig, reporting, type Which } from "./options.ts";
import { openWritable } from "./stored.ts";
import { endOfVerification, resultOf, streamsTable, type Verification } from "./verify-result.ts";
import { type CompareDeps, compareAccounts } from "./verify-run.ts";

type VerifyWords = Which & {
  readonly from: string;
  readonly to: string;
  readonly repair: boolean;
};

/** How many findings of each kind a person is shown. JSON has all. */
const shownMax = 100;

/**
 * `verify`: reads a span from the exchange again and compares it with what is stored. It holds the
 * account as a sync does, so that neither runs beside the other. With `repair` it writes what differs.
 */
async function verifyCommand(config: Config, io: Io, words: VerifyWords): Promise<ExitCode> {
  const span = readSpan(words);
  await using database = await openWritable(config, io);
  return await runVerification(config, {
    notice: (message) => note(io, message),
    onResult: (verification) =>
      answer(io, resultOf(verification, io.isJson ? Number.POSITIVE_INFINITY : shownMax)),
    ...{ database, signal: io.signal, span, repair: words.repair },
  });
}

type VerificationDeps = Omit<CompareDeps, "db" | "runId" | "counts"> & {
  readonly database: CommandDatabase;
  readonly onResult: (verification: Verification) => unknown;
};

/**
 * A whole verification. Its result is reported before it is written to the run log, because writing
 * may fail.
 */
export async function runVerification(config: Config, given: VerificationDeps): Promise<ExitCode> {
  const { database, notice, repair, onResult } = given;
  for (const warning of config.warnings) notice(warning);
  const { db } = database;
  await migrate(database.url.reveal());
  const verify = async (runId: string): Promise<LoggedEnd> => {
    const verification = await compareAccounts(config, { ...given, db, runId, counts: true });
    onResult(verification);
    const counts = { streams: streamsTable(verification).json };
    return { ...endOfVerification(verification), counts };
  };
  // A verification that writes nothing needs no row in the run log.
  if (repair) return await loggedRun(db, "verify", verify);
  return (await verify(randomUUID())).exitCode;
}

/** @throws UsageError if a text is no time, or the span is empty. */
export function readSpan(typed: { readonly from: string; readonly to: string }): Interval {
  const from = typedTime("--from", typed.from, "UTC");
  const to = typedTime("--to", typed.to, "UTC");
  if (from >= to) {
    throw new UsageError(
      `--from ${typed.from} is not before --to ${typed.to}, which is exclusive: nothing is between them`,
    );
  }
  return { from, to };
}

const help = `
Each served bill is compared field by field with the stored one: missing,
changed, extra (stored and not served) or rejected. --repair writes what differs
and deletes nothing; it also corrects the count of bills.
Times are ISO 8601; a date alone is midnight UTC.`;

export const define: Define = (verify, { io, config, runs }) => {
  reporting(
    verify
      .requiredOption("--from <time>", "the start, inclusive: 2026-11-01, or 2026-11-01T12:00Z")
      .requiredOption("--to <time>", "the end, exclusive")
      .option("--repair", "store missing bills, and restate changed ones", false),
  )
    .addHelpText("after", help)
    .action(
      runs((words: VerifyWords) =>
        verifyCommand(narrowedConfig({ config }, true, words), io, words),
      ),
    );
};
