import { createHash } from "node:crypto";
import type pg from "pg";
import { billsOperations } from "../../src/core/contract/bills-api.ts";
import { productTypes } from "../../src/core/contract/product-types.ts";
import { dayMs, type EpochMs, epochMs } from "../../src/lib/time.ts";
import type { Answer } from "../../src/wings/sandbox/exchange/api.ts";
import type { AccountBills } from "../../src/wings/sandbox/ledger.ts";
import { seededRandom } from "../../src/wings/sandbox/random.ts";
import type { ScheduledFault } from "../exchange/kinds.ts";
import { quirky } from "../exchange/quirks.ts";
import { createSandbox, type Sandbox } from "../exchange/sandbox.ts";
import { faultyExchange } from "../exchange/schedule.ts";
import { virtualClock } from "../support/virtual-clock.ts";
import { accountsOf, credentialOf, recordsOptions, simulatedAccount } from "./account.ts";
import { committedLedgers } from "./committed.ts";
import { OpenTransactions, serialIo } from "./database.ts";
import { laggingReplica } from "./heal.ts";
import type { AccountKind, History, KeyKind } from "./history.ts";
import { burstMoments, simulatedLedger } from "./ledger.ts";
import type { Run } from "./sync.ts";
import { toleranceOf } from "./time-checks.ts";
import { verdicts } from "./verdicts.ts";

/** The moment at which histories begin. */
export const historyStart = epochMs(Date.UTC(2026, 3, 30, 23, 59, 58, 765));
export const accountName = "simulated";

/** Everything in which a history is played: the exchange, the time, and what is known of both. */
export type World = ReturnType<typeof openWorld>;

/** @param onTrace called with each line of which the digest is made. */
export function openWorld(
  history: History,
  pool: pg.Pool,
  onTrace: (line: string) => void = () => undefined,
) {
  const time = virtualClock(historyStart);
  const account = simulatedAccount(history, historyStart);
  const ledger = simulatedLedger(history, account);
  const schedule: ScheduledFault[] = [];
  let isLagOver = false;
  const faults = new Map<string, number>();
  let strikes = 0;
  const strike = (kind: string) => {
    strikes += 1;
    faults.set(kind, (faults.get(kind) ?? 0) + 1);
  };
  const hash = createHash("sha256");
  const trace = (line: string) => {
    hash.update(`${line}\n`);
    onTrace(line);
  };
  const begun = new Set<ScheduledFault>();
  /** The numbers of requests that arrived late, and of those whose answers told a wrong time. */
  const [late, misdated] = [new Set<number>(), new Set<number>()];
  const onFault = (fault: ScheduledFault, request: number) => {
    if (fault.kind === "late-request") late.add(request);
    if (fault.kind === "clock-jump" || fault.kind === "wrong-time") misdated.add(request);
    // One fault, however many requests it strikes.
    if (fault.kind === "maintenance" && begun.has(fault)) strikes += 1;
    else strike(`exchange: ${kindOf(fault)}`);
    begun.add(fault);
    trace(`${time.now()} the exchange: ${kindOf(fault)}`);
  };
  const { exchange, records } = history;
  const { seed, futureDays, density, bursts } = history.ledger;
  let user: string | undefined;
  const faulty = faultyExchange({ schedule, now: time.now, sleep: time.clock.sleep, onFault });
  const quirk = quirky(exchange.quirks, seededRandom(`${seed}/answers`));
  const { alterCredential, wrapAnswer: wrapRecords = (answer) => answer } = recordsOptions(records);
  const sandbox = createSandbox({
    seed,
    accountNames: accountsOf(history),
    productTypes: account.productTypes,
    modes: account.changes,
    ...unifiedOptions(history.account),
    futureDays,
    density,
    days: 92 + (records === undefined ? 0 : Math.ceil(records.wantedMs / dayMs) + records.moreDays),
    edges: burstMoments(bursts, historyStart),
    now: time.now,
    clock: faulty.clock,
    wrapSource: (source) =>
      faulty.wrapSource(
        quirk(
          laggingReplica(
            source,
            history,
            () => strike("exchange: lagging replica"),
            () => isLagOver,
          ),
        ),
      ),
    wrapAnswer: (answer) =>
      wrapRecords(
        faulty.wrapAnswer(history.account?.numericCursor ? numericCursors(answer) : answer),
      ),
    alterLedger: (made, name) =>
      name === accountName ? ledger.alter(made) : name === "empty" ? withoutBills(made) : made,
    alterCredential(credential) {
      user ??= credential.uid;
      return credentialOf(history, alterCredential?.(credential) ?? credential, user);
    },
  });
  const committed = committedLedgers(ledger);
  let owner: "own" | "empty" | undefined;
  let keyInUse: KeyKind | undefined;
  let holder: { readonly run: Run; readonly epoch: number } | undefined;
  const jitter = seededRandom(`way ${history.seed}`);
  return {
    history,
    pool,
    time,
    trace,
    digest: () => hash.copy().digest("hex"),
    now: () => epochMs(Math.floor(time.now())),
    io: serialIo(time),
    transactions: new OpenTransactions(),
    account,
    ledger,
    sandbox,
    committed,
    verdicts: verdicts(),
    tolerance: toleranceOf(history),
    /** The bills that any answer to a sync has shown: product type and id. */
    shown: new Set<string>(),
    wayMs: () => exchange.wayMs + exchange.jitterMs * jitter(),
    /** The faults that struck, by kind. */
    faults,
    strike,
    /** How often anything struck: a fault of many requests counts at each of them. */
    strikes: () => strikes,
    /** How many requests arrived later than their answers say: no client knows when the next one may arrive. */
    hiddenDelays: () => late.intersection(misdated).size,
    /** Whose account it is as the tables know it; undefined before the first key. */
    owner: () => owner,
    /** The key that a run took last. */
    keyInUse: () => keyInUse,
    /** A run with this key has made it the one that reads the account: what another user's key has read is forgotten. */
    acceptKey(key: KeyKind) {
      const user = key === "empty" ? key : "own";
      const isOther = history.isUserUntold ? key !== keyInUse : user !== owner;
      if (isOther) committed.forgetPlans();
      owner = user;
      keyInUse = key;
      ledger.isHidden = owner !== "own";
    },
    /** A run holds the account now: earlier holders must not write any more. */
    overtake(run: Run, epoch: number) {
      // A run that stood still while another one took the account hears of it late.
      const isLate = holder !== undefined && epoch < holder.epoch;
      if (isLate) run.isOvertaken = true;
      else {
        if (holder !== undefined) holder.run.isOvertaken = true;
        holder = { run, epoch };
      }
    },
    /** What the exchange does from its next request on. */
    schedule(next: readonly ScheduledFault[]) {
      const before = requestsForBills(sandbox);
      const othersBefore = requestsForOthers(sandbox);
      // Two in a row might give the same false answer to two questions, which nobody can detect.
      const isLeft = ({ kind, atRequest }: ScheduledFault) =>
        kind !== "false-end" || atRequest <= before;
      schedule.splice(0, schedule.length, ...schedule.filter(isLeft));
      schedule.push(
        ...next.map((fault) => ({
          ...fault,
          atRequest: fault.atRequest + (fault.of === undefined ? before : othersBefore),
        })),
      );
    },
    /** The exchange has no more faults from now on, except a maintenance that has begun. */
    forgetSchedule() {
      schedule.splice(0);
      isLagOver = true;
    },
  };
}

/** The oldest time that is wanted of tax records. */
export const recoverFromOf = ({ records }: History): EpochMs | undefined =>
  records && epochMs(historyStart - records.wantedMs);

/** How many of them arrived, by either API. */
export function requestsForBills({ statistics }: Sandbox): number {
  const { arrivals } = statistics();
  return billsOperations.reduce((sum, { name }) => sum + (arrivals[name] ?? 0), 0);
}

function requestsForOthers(sandbox: Sandbox): number {
  const all = Object.values(sandbox.statistics().arrivals);
  return all.reduce((sum, arrived) => sum + arrived, 0) - requestsForBills(sandbox);
}

const withoutBills = (ledger: AccountBills): AccountBills => ({
  ...ledger,
  bills: Object.fromEntries(
    productTypes.map((type) => [type, []]),
  ) as unknown as AccountBills["bills"],
});

const unifiedOptions = (account: AccountKind | undefined) =>
  account && {
    unified: {
      density: account.density,
      isFuturesFeeInside: account.isFuturesFeeInside,
      areIdsReused: account.areIdsReused,
      positionsSince: historyStart + account.positionsSinceMs,
    },
  };

/** v3 sends its cursors as JSON numbers. */
const numericCursors =
  (answer: Answer): Answer =>
  async (request) => {
    const given = await answer(request);
    return { ...given, body: given.body.replace(/"cursor":"(\d+)"/, '"cursor":$1') };
  };

function kindOf(fault: ScheduledFault): string {
  if (fault.kind !== "too-many-requests") return fault.kind;
  return `${fault.kind}${fault.retryAfterSeconds === undefined ? "" : ", Retry-After"}`;
}
