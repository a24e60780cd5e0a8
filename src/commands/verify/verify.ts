import { randomUUID } from "node:crypto";
import { systemClock } from "../../clock.ts";
import type { ProductType } from "../../contract/product-types.ts";
import { refuseTakenKey } from "../../db/accounts/account-keys.ts";
import { readAccountStates } from "../../db/accounts/account-states.ts";
import type { Database } from "../../db/connect.ts";
import { shareAddress } from "../../db/lease/address-share.ts";
import { holdAccount } from "../../db/lease/hold-account.ts";
import { checkLease } from "../../db/lease/lease.ts";
import { readUsers, type Users } from "../../db/lease/leased-accounts.ts";
import { Leases } from "../../db/lease/leases.ts";
import { LockWaits } from "../../db/lease/lock-waits.ts";
import { migrate } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import { type ExchangeError, firstThrown } from "../../errors.ts";
import { readSideBySide } from "../../exchange/accounts-at-once.ts";
import { type ExchangeAccess, exchangeOf, openExchangeAccess } from "../../exchange/session.ts";
import { AccountKey, proofText, proveKey } from "../../ledger/account-key.ts";
import { readSyncedStreams } from "../../ledger/known-time.ts";
import { openVerifyStore } from "../../ledger/verification-store.ts";
import { streamName } from "../../output/stream-names.ts";
import { printableLine } from "../../printable.ts";
import { type Account, withCredentials } from "../../roster/account.ts";
import type { Config } from "../../roster/config.ts";
import { reachableSelection } from "../../roster/reachable.ts";
import { withAdded } from "../../roster/to-read.ts";
import {
  type MeetDeps,
  type MetAccount,
  meetAccount,
  refuseNothing,
} from "../../sync/account-mode.ts";
import { type AccountMode, modeOf } from "../../sync/account-state.ts";
import type { Interval } from "../../sync/intervals.ts";
import type { Repair, Stream } from "../../sync/store.ts";
import {
  openStreams,
  type StreamVerification,
  type StreamVerify,
  type VerifyDeps,
  verifyBills,
} from "../../sync/verify.ts";
import { type ExitCode, type Io, print, printJson, tell } from "../io.ts";
import { type LoggedEnd, loggedRun } from "../logged-run.ts";
import { type Define, narrowedConfig, type Reporting, reporting } from "../options.ts";
import { recount } from "../reconcile/recount.ts";
import {
  type AccountVerification,
  endOfVerification,
  Findings,
  type Verification,
  verificationJson,
  verificationText,
} from "./verify-result.ts";
import { readSpan } from "./verify-span.ts";

export type VerifyOptions = {
  readonly from: string;
  readonly to: string;
  readonly repair: boolean;
  readonly json: boolean;
  /** Whether to count the bills of the streams that were read. Default true. */
  readonly counts?: boolean;
};

/** How many findings of each kind a person is shown. JSON has all. */
const shownMax = 100;

/**
 * `verify`: reads a span from the exchange again and compares it with what is stored. It holds the
 * account as a sync does, so that neither runs beside the other. With `repair` it writes what differs.
 */
export async function verifyCommand(
  config: Config,
  io: Io,
  options: VerifyOptions,
): Promise<ExitCode> {
  const span = readSpan(options, systemClock.now());
  const notice = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(config.database, notice);
  const { repair, json, counts = true } = options;
  const keptMax = json ? Number.POSITIVE_INFINITY : shownMax;
  const onResult = (verification: Verification) => {
    if (json) printJson(io, verificationJson(verification));
    else print(io, verificationText(verification));
  };
  const deps = { database, notice, signal: io.signal, span, repair, counts, keptMax, onResult };
  return await runVerification(config, deps);
}

export type VerificationDeps = Pick<Deps, "notice" | "signal" | "span" | "repair" | "counts"> & {
  readonly database: CommandDatabase;
  /** The most findings to keep for each kind and stream. All are counted. */
  readonly keptMax: number;
  readonly onResult: (verification: Verification) => void;
};

/**
 * A whole verification. Its result is reported before it is written to the run log, because writing
 * may fail.
 */
export async function runVerification(wanted: Config, given: VerificationDeps): Promise<ExitCode> {
  const { database, notice, span, repair, keptMax, onResult } = given;
  for (const warning of wanted.warnings) notice(warning);
  const { db } = database;
  await migrate(database.url.reveal());
  const config = await withAdded(db, wanted);
  const accounts = config.accounts.map(({ name }) => name);
  const { selection, unreachable } = await reachableSelection(db, config, {
    accounts,
    productTypes: undefined,
  });
  const reachable = config.accounts.filter(({ name }) => selection.accounts?.includes(name));
  await using access = openExchangeAccess();
  using _share = await shareAddress(db, access.addressLimits, access.clock);
  const leases = new Leases(db);
  const lockWaits = new LockWaits(db);
  const verify = async (runId: string): Promise<LoggedEnd> => {
    const findings = new Findings(keptMax);
    const users = await readUsers(db, accounts);
    const deps = { ...given, config, db, access, runId, findings, leases, users, lockWaits };
    const read = await readSideBySide(reachable, (account) => verifyOne(deps, account));
    const reports = [...read, ...unreachable.map((one) => ({ ...one, ...nothingRead }))];
    const verification = { span, reports, findings };
    onResult(verification);
    return { ...endOfVerification(verification), counts: countsOf(verification) };
  };
  // A verification that writes nothing needs no row in the run log.
  if (repair) return await loggedRun(db, "verify", verify, given.signal);
  return (await verify(randomUUID())).exitCode;
}

const nothingRead = { streams: [], recounted: [] };

type Deps = {
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly notice: (message: string) => void;
  readonly db: Database;
  readonly access: ExchangeAccess;
  readonly runId: string;
  readonly span: Interval;
  readonly repair: boolean;
  readonly counts: boolean;
  readonly findings: Findings;
  readonly leases: Leases;
  readonly users: Users;
  readonly lockWaits: LockWaits;
};

/** Never throws: the report contains the error that stopped it. */
async function verifyOne(deps: Deps, wanted: Account): Promise<AccountVerification> {
  const { config, signal, notice, db, access, runId, span, repair, findings } = deps;
  const { leases, users, lockWaits } = deps;
  const { name } = wanted;
  let streams: readonly StreamVerification[] = [];
  try {
    const account = await withCredentials(wanted, signal);
    const named = { account: name, key: account.credentials.key };
    await refuseTakenKey(db, named);
    const exchange = exchangeOf(config, account, access);
    await using lease = await holdAccount(
      { leases, exchange },
      { name, uid: account.uid ?? users.get(name) },
      { onWait: notice, signal, lockWaits },
    );
    const { client, exchangeNow } = exchange;
    const { assertHeld } = lease;
    const onFailure = ({ message }: ExchangeError) =>
      notice(`${name}: a request failed: ${message}`);
    const asking = { client, exchangeNow, assertHeld, signal, onFailure };
    const key = new AccountKey(db, named);
    const opened = openVerifyStore(db, lease, runId, lockWaits);
    const verifying: VerifyDeps = {
      ...asking,
      store: { ...opened, heal: (rows) => key.store(pageOf(rows), () => opened.heal(rows)) },
      heal: repair,
      onFinding: (finding) => findings.add(finding),
      onFailure: (stream, { message }) =>
        notice(`${streamName(stream)}: a request failed: ${message}`),
    };
    const met = await meetStreams(db, { asking, verifying }, account);
    const uid = account.uid ?? met.uid;
    if (uid !== undefined) await lease.asUser(uid);
    const apart = notCompared(await readSyncedStreams(db, [name]), account, met.mode);
    if (apart !== undefined) notice(apart);
    const proof = await proveKey({ db, exchange, assertHeld, signal, onFailure }, named, met.mode);
    const text = proofText(proof);
    if (text !== undefined) notice(`${name}: ${text}`);
    if (repair) await key.take((tx) => checkLease(tx, lease), proof);
    streams = await verifyBills(met.streams, span);
    const verified = streams.map(({ stream }) => stream);
    const recounted = deps.counts ? await recount(db, verified) : [];
    return { account: name, streams, recounted, error: undefined };
  } catch (error) {
    return { account: name, streams, recounted: [], error: firstThrown(error) };
  }
}

const pageOf = ({ stream, differing, rejected }: Repair) => ({
  stream,
  bills: differing.map(({ bill }) => bill),
  rejected,
});

const productTypeOf = ({ stream }: StreamVerify): ProductType => stream.productType;

/** The account's mode and its streams in it, without those that were refused to its key before. */
async function meetStreams(
  db: Database,
  { asking, verifying }: { readonly asking: MeetDeps; readonly verifying: VerifyDeps },
  account: Account,
): Promise<MetAccount<StreamVerify>> {
  const { name, readsAll = false } = account;
  const state = (await readAccountStates(db, name)).of(name);
  const met = await meetAccount(asking, account, state, openStreams(verifying, name));
  if (met.streams.length === 0) refuseNothing(account, met.mode);
  const isRefused = (stream: StreamVerify) =>
    state.notAvailable.some(({ productType }) => productType === productTypeOf(stream));
  return { ...met, streams: met.streams.filter((stream) => !readsAll || !isRefused(stream)) };
}

/** A notice on what is stored of the account's other mode, which the exchange no longer serves. */
function notCompared(
  stored: readonly Stream[],
  { name, productTypes }: Account,
  mode: AccountMode,
): string | undefined {
  const apart = stored
    .filter(({ account, productType }) => account === name && productTypes.includes(productType))
    .filter(({ productType }) => modeOf(productType) !== mode)
    .map(({ productType }) => productType);
  if (apart.length === 0) return undefined;
  return (
    `${printableLine(name)}: not compared: ${apart.join(", ")}: the account is ${mode} now, and ` +
    "the exchange serves their bills only after it is switched back"
  );
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
