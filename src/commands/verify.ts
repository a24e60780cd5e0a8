import { type Account, withCredentials } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import type { Selection } from "../accounts/roster.ts";
import { accountsToRead } from "../accounts/to-read.ts";
import {
  type LedgerVerification,
  ledgerVerifiers,
  type VerifyDeps,
  verifyBills,
} from "../check/verify/verify.ts";
import type { ProductType } from "../core/contract/product-types.ts";
import { readSideBySide } from "../core/exchange/address-limits.ts";
import { type ExchangeAccess, exchangeOf, openExchangeAccess } from "../core/exchange/session.ts";
import type { Database } from "../core/postgres/connect.ts";
import { migrate } from "../core/postgres/migrate.ts";
import { readAccountStates } from "../core/store/accounts/account-states.ts";
import { recount } from "../core/store/bill-counts.ts";
import { readExchangeTime } from "../core/store/known-time.ts";
import { readUsers, type Users } from "../core/store/lease/lease.ts";
import { Leases, shareAddress } from "../core/store/lease/leases.ts";
import { openVerifyStore } from "../core/store/ledger-store.ts";
import { assertSomethingToRead, identifyAccount } from "../core/sync/account-mode.ts";
import { type AccountMode, modeOf } from "../core/words/account-state.ts";
import type { Interval } from "../core/words/intervals.ts";
import { horizonAt } from "../core/words/plan.ts";
import { firstThrown, UsageError } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { type EpochMs, isoTime } from "../lib/time.ts";
import { ledgerName } from "../output/output-format.ts";
import type { Result } from "../output/result.ts";
import { loggedRun, type RunExit } from "./exit-code.ts";
import { periodOf } from "./export-options.ts";
import { note } from "./io.ts";
import type { CommandDatabase } from "./open.ts";
import { openAccount } from "./open-account.ts";
import {
  type Define,
  type LedgerFlags,
  type Program,
  reporting,
  selectedConfig,
} from "./options.ts";
import { openWritable } from "./stored.ts";
import { noticeFailure } from "./sync-reporter.ts";
import {
  type AccountVerification,
  ledgersTable,
  resultOfVerification,
  type Verification,
  verificationOf,
} from "./verify-result.ts";

type VerifyFlags = LedgerFlags & {
  readonly from: string;
  readonly to: string;
  readonly repair: boolean;
};

/**
 * `verify`: reads a span from the exchange again and compares it with what is stored. It holds the
 * account as a sync does, so that neither runs beside the other. With `repair` it writes what differs.
 */
async function verifyCommand(program: Program, words: VerifyFlags): Promise<Result> {
  const { io } = program;
  const { config, selection } = selectedConfig(program, true, words);
  const span = readSpan(words);
  await using database = await openWritable(config, io);
  const notice = (message: string) => note(io, message);
  const deps = { notice, signal: io.signal, span, selection, repair: words.repair };
  return resultOfVerification(await runVerification(config, database, deps));
}

type SpanDeps = {
  readonly signal: AbortSignal;
  readonly notice: (message: string) => void;
  readonly span: Interval;
  readonly selection: Selection;
  readonly repair: boolean;
};

/** A whole verification. */
export async function runVerification(
  config: Config,
  { db, url }: CommandDatabase,
  deps: SpanDeps,
): Promise<Verification & RunExit> {
  await migrate(url.reveal());
  return loggedRun({ db, notice: deps.notice }, "verify", async () => {
    const verification = await compareAccounts(config, db, { ...deps, counts: true });
    return { ...verification, counts: { ledgers: ledgersTable(verification).json } };
  });
}

/** @throws UsageError if a text is no time, or the span is empty. */
export function readSpan({ from: start, to: end }: Pick<VerifyFlags, "from" | "to">): Interval {
  const { from, to } = periodOf({ from: start, to: end }, "UTC");
  if (from === undefined || to === undefined) throw new UsageError("--from and --to are needed");
  return { from, to };
}

/** Reads a span of the configured accounts again, and compares it with what is stored. */
export async function compareAccounts(
  config: Config,
  db: Database,
  deps: SpanDeps & Pick<AccountDeps, "counts">,
): Promise<Verification> {
  const { span, selection } = deps;
  const { selected, unreachable } = await accountsToRead(db, config, selection);
  const names = selected.map(({ name }) => name);
  if (names.length > 0) refuseUnserved(span, await readExchangeTime(db, names));
  await using access = openExchangeAccess();
  using _share = await shareAddress(db, access.addressLimits, access.clock);
  const users = await readUsers(db, names);
  const accountDeps = { ...deps, db, leases: new Leases(db), config, access, users };
  const read = await readSideBySide(selected, (account) => verifyAccount(accountDeps, account));
  const unread = unreachable.map((account) => ({ ...account, ...nothingRead }));
  return verificationOf(span, [...read, ...unread]);
}

/**
 * @param now the exchange's time.
 * @throws UsageError for a span that ends in the future, or before the 90 days that the exchange serves.
 */
function refuseUnserved({ to }: Interval, now: EpochMs): void {
  const horizon = horizonAt(now);
  if (to > now)
    throw new UsageError(
      `--to ${isoTime(to)} lies in the future; give a time up to now, ${isoTime(now)}`,
    );
  if (to <= horizon)
    throw new UsageError(
      `--to ${isoTime(to)} is more than 90 days ago: the exchange serves nothing before ${isoTime(horizon)}`,
    );
}

const nothingRead = { ledgers: [], recounted: [] };

type AccountDeps = SpanDeps & {
  readonly db: Database;
  /** Whether to count the bills of the ledgers that were read. */
  readonly counts: boolean;
  readonly config: Config;
  readonly access: ExchangeAccess;
  readonly leases: Leases;
  readonly users: Users;
};

/** Never throws: the report contains the error that stopped it. */
async function verifyAccount(deps: AccountDeps, configured: Account): Promise<AccountVerification> {
  const { config, signal, notice, db, access, span, repair } = deps;
  const { name } = configured;
  let ledgers: readonly LedgerVerification[] = [];
  try {
    const account = await withCredentials(configured, signal);
    const exchange = exchangeOf(config, account, access);
    await using opened = await openAccount({ ...deps, onWait: notice }, account, exchange);
    const { client, exchangeNow } = exchange;
    const { assertHeld } = opened;
    const asking = { client, assertHeld, signal, onFailure: noticeFailure(notice, name) };
    const verifying: VerifyDeps = {
      ...asking,
      ...{ exchangeNow, span, repair, sleep: access.clock.sleep },
      store: openVerifyStore(db, opened),
      onProgress(progress) {
        if (progress.event === "request" && progress.failure !== undefined)
          noticeFailure(notice, ledgerName(progress.ledger))(progress.failure);
      },
    };
    const state = (await readAccountStates(db, name)).of(name);
    const meeting = await identifyAccount(asking, account, state, ledgerVerifiers(verifying, name));
    if (meeting.ledgers.length === 0) assertSomethingToRead(account, meeting.mode);
    const unserved = notCompared(state.stored, account, meeting.mode);
    if (unserved !== undefined) notice(unserved);
    // A product type that was refused to the key before is no failure where none is named.
    const refused = account.readsAll ? state.notAvailable : [];
    const wanted = meeting.ledgers.filter(({ ledger }) =>
      refused.every(({ productType }) => productType !== ledger.productType),
    );
    const answer = { ...meeting, productTypes: wanted.map(({ ledger }) => ledger.productType) };
    await (repair ? opened.takeKey(answer) : opened.checkKey(answer));
    ledgers = await verifyBills(verifying, wanted);
    const recounted = deps.counts ? await recount(db, name) : [];
    return { account: name, ledgers, recounted, error: undefined };
  } catch (error) {
    return { account: name, ledgers, recounted: [], error: firstThrown(error) };
  }
}

/** A notice on what is stored of the account's other mode, which the exchange no longer serves. */
function notCompared(
  stored: readonly ProductType[],
  { name, productTypes }: Account,
  mode: AccountMode,
): string | undefined {
  const unserved = stored.filter((type) => productTypes.includes(type) && modeOf(type) !== mode);
  if (unserved.length === 0) return undefined;
  return (
    `${printableLine(name)}: not compared: ${unserved.join(", ")}: the account is ${mode} now, and ` +
    "the exchange serves their bills only after it is switched back"
  );
}

const help = `
Each served bill is compared field by field with the stored one: missing,
changed, unserved (stored and not served) or rejected. --repair writes what
differs and deletes nothing; it also corrects the count of bills.
Times are ISO 8601; a date alone is midnight UTC.`;

export const define: Define = (verify, program) => {
  reporting(
    verify
      .requiredOption(
        "--from <time>",
        "required: the start, inclusive: 2026-11-01, or 2026-11-01T12:00Z",
      )
      .requiredOption("--to <time>", "required: the end, exclusive")
      .option("--repair", "store missing bills, and restate changed ones", false),
  )
    .addHelpText("after", help)
    .action(program.runs((words: VerifyFlags) => verifyCommand(program, words)));
};
