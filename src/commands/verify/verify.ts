import { randomUUID } from "node:crypto";
import { systemClock } from "../../clock.ts";
import { type EpochMs, isoTime } from "../../contract/time.ts";
import { migrate } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import { UsageError } from "../../errors.ts";
import type { Config } from "../../roster/config.ts";
import type { Interval } from "../../sync/intervals.ts";
import { horizonAt } from "../../sync/plan.ts";
import { type ExitCode, type Io, tell } from "../io.ts";
import { type LoggedEnd, loggedRun } from "../logged-run.ts";
import { answer, type Define, narrowedConfig, type Reporting, reporting } from "../options.ts";
import { typedTime } from "../typed-times.ts";
import { type CompareDeps, compareAccounts } from "./compare.ts";
import { endOfVerification, resultOf, type Verification } from "./verify-result.ts";

export type VerifyOptions = {
  readonly from: string;
  readonly to: string;
  readonly repair: boolean;
  readonly json: boolean;
};

/** How many findings of each kind a person is shown. JSON has all. */
const shownMax = 100;

/**
 * `verify`: reads a span from the exchange again and compares it with what is stored. It holds the
 * account as a sync does, so that neither runs beside the other. With `repair` it writes what differs.
 */
async function verifyCommand(
  config: Config,
  io: Io,
  { repair, json, ...typed }: VerifyOptions,
): Promise<ExitCode> {
  const span = readSpan(typed, systemClock.now());
  const notice = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(config.database, notice);
  const keptMax = json ? Number.POSITIVE_INFINITY : shownMax;
  const onResult = (verification: Verification) => void answer(io, json, resultOf(verification));
  const deps = { database, notice, signal: io.signal, span, repair, keptMax, onResult };
  return await runVerification(config, deps);
}

export type VerificationDeps = Pick<
  CompareDeps,
  "notice" | "signal" | "span" | "repair" | "keptMax"
> & {
  readonly database: CommandDatabase;
  readonly onResult: (verification: Verification) => void;
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
    return { ...endOfVerification(verification), counts: countsOf(verification) };
  };
  // A verification that writes nothing needs no row in the run log.
  if (repair) return await loggedRun(db, "verify", verify, given.signal);
  return (await verify(randomUUID())).exitCode;
}

const countsOf = ({ reports, findings }: Verification): object => ({
  accounts: reports.map(({ account, streams }) => ({
    account,
    streams: streams.map(({ stream, compared }) => ({
      productType: stream.productType,
      compared,
      ...findings.counts(stream),
    })),
  })),
});

/**
 * Parses the span to read.
 * @param now this machine's time.
 * @throws UsageError if a text is no time, or the span is empty, in the future or older than the
 * exchange serves.
 */
export function readSpan(
  typed: { readonly from: string; readonly to: string },
  now: EpochMs,
): Interval {
  const from = typedTime("--from", typed.from, "UTC");
  const to = typedTime("--to", typed.to, "UTC");
  if (from >= to) {
    throw new UsageError(
      `--from ${typed.from} is not before --to ${typed.to}, which is exclusive: nothing is between them`,
    );
  }
  for (const [option, time] of [
    ["--from", from],
    ["--to", to],
  ] as const) {
    if (time <= now) continue;
    throw new UsageError(
      `${option} ${isoTime(time)} lies in the future; give a time up to now, ${isoTime(now)}`,
    );
  }
  const horizon = horizonAt(now);
  if (to <= horizon) {
    throw new UsageError(
      `--to ${typed.to} is more than 90 days ago: the exchange serves nothing before ${isoTime(horizon)}`,
    );
  }
  return { from, to };
}

const help = `
verify reads the bills of the span, --from inclusive and --to exclusive, from
the exchange again, and compares them field by field with those that are stored:
  missing   served, and not stored
  changed   stored with other content: each field, old and new
  extra     stored, and not served: expired (older than the exchange's 90 days
            by now) or unknown
  rejected  rows that broke the API's contract
Times are ISO 8601; a date alone is midnight UTC. --repair writes what is
missing, restates what is changed and keeps rejected rows in rejected_bills; it
deletes nothing. It also counts the stored bills of what it read, and corrects
the number that status shows.
The exit code is 0 if all bills are equal or repaired, 1 if a difference
remains, and 3 if another run holds the account.`;

type VerifyWords = Reporting & Pick<VerifyOptions, "from" | "to" | "repair">;

export const define: Define = (verify, { io, readEnvironment }, exitWith) => {
  reporting(
    verify
      .requiredOption("--from <time>", "the start, inclusive: 2026-11-01, or 2026-11-01T12:00Z")
      .requiredOption("--to <time>", "the end, exclusive")
      .option("--repair", "store missing bills, and restate changed ones", false),
  )
    .addHelpText("after", help)
    .action(
      exitWith((options: VerifyWords) =>
        verifyCommand(narrowedConfig(readEnvironment, true, options), io, options),
      ),
    );
};
