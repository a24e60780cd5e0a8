import { createHash } from "node:crypto";
import type pg from "pg";
import { billsOperations } from "../../src/contract/bills-api.ts";
import { productTypes } from "../../src/contract/product-types.ts";
import { dayMs, type EpochMs, epochMs, minuteMs, secondMs } from "../../src/contract/time.ts";
import type { AccountBills } from "../../src/sandbox/ledger.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import { createSandbox, type Sandbox } from "../../src/sandbox/sandbox.ts";
import type { ScheduledFault } from "../faults/kinds.ts";
import { quirky } from "../faults/quirks.ts";
import { faultyExchange } from "../faults/schedule.ts";
import { type VirtualClock, virtualClock } from "../support/virtual-clock.ts";
import { type SimulatedAccount, simulatedAccount } from "./account.ts";
import { committedLedgers } from "./committed.ts";
import { OpenTransactions, type SerialIo, serialIo } from "./database.ts";
import type { AccountKind, History, KeyKind, ProcessFault } from "./history.ts";
import { accountsOf, credentialOf } from "./keys.ts";
import { burstMoments, type SimulatedLedger, simulatedLedger } from "./ledger.ts";
import type { Run } from "./run-record.ts";
import { recordsOptions } from "./tax-records.ts";
import type { Tolerance } from "./time-checks.ts";
import { type Verdicts, verdicts } from "./verdicts.ts";

/** The moment at which histories begin. */
export const historyStart = epochMs(Date.UTC(2026, 3, 30, 23, 59, 58, 765));
export const accountName = "simulated";

/** Everything in which a history is played: the exchange, the time, and what is known of both. */
export type World = {
  readonly history: History;
  readonly pool: pg.Pool;
  readonly time: VirtualClock;
  readonly now: () => EpochMs;
  readonly io: SerialIo;
  readonly transactions: OpenTransactions;
  readonly account: SimulatedAccount;
  readonly ledger: SimulatedLedger;
  readonly sandbox: Sandbox;
  readonly committed: ReturnType<typeof committedLedgers>;
  readonly verdicts: Verdicts;
  readonly tolerance: Tolerance;
  readonly wayMs: () => number;
  /** The bills that any answer to a sync has shown: product type and id. */
  readonly shown: Set<string>;
  /** The faults that struck, by kind. */
  readonly faults: Map<string, number>;
  strike(kind: string): void;
  /** How often anything struck: a fault of many requests counts at each of them. */
  strikes(): number;
  /** Whose account it is as the tables know it; undefined before the first key. */
  owner(): "own" | "empty" | undefined;
  /** The key that a run took last. */
  keyInUse(): KeyKind | undefined;
  /** A run with this key has made it the one that reads the account: what another user's key has read is forgotten. */
  takeKey(key: KeyKind): void;
  /** A run holds the account now: earlier holders must not write any more. */
  overtake(run: Run, epoch: number): void;
  /** What the exchange does from its next request on. */
  schedule(faults: readonly ScheduledFault[]): void;
  /** The exchange has no more faults from now on, except a maintenance that has begun. */
  forgetSchedule(): void;
  trace(line: string): void;
  digest(): string;
};

/** @param onTrace called with each line of which the digest is made. */
export function openWorld(
  history: History,
  pool: pg.Pool,
  onTrace: (line: string) => void = () => undefined,
): World {
  const time = virtualClock(historyStart);
  const account = simulatedAccount(history, historyStart);
  const ledger = simulatedLedger(history, account);
  const schedule: ScheduledFault[] = [];
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
  const onFault = (fault: ScheduledFault) => {
    // One fault, however many requests it strikes.
    if (fault.kind === "maintenance" && begun.has(fault)) strikes += 1;
    else strike(`exchange: ${kindOf(fault)}`);
    begun.add(fault);
    trace(`${time.now()} the exchange: ${kindOf(fault)}`);
  };
  const { exchange, records } = history;
  const { seed, futureDays, density, bursts } = history.ledger;
  let user: string | undefined;
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
    wrapSource: quirky(
      { ...exchange.quirks, pastHorizon: exchange.pastHorizon },
      seededRandom(`${seed}/answers`),
    ),
    alterLedger: (made, name) =>
      name === accountName ? ledger.alter(made) : name === "empty" ? withoutBills(made) : made,
    ...recordsOptions(records),
    alterCredential(credential) {
      user ??= credential.uid;
      const permitted = recordsOptions(records).alterCredential?.(credential) ?? credential;
      return credentialOf(history, permitted, user);
    },
    faults: faultyExchange({ schedule, sleep: time.clock.sleep, onFault }),
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
    now: () => epochMs(Math.floor(time.now())),
    io: serialIo(time),
    transactions: new OpenTransactions(),
    account,
    ledger,
    sandbox,
    committed,
    verdicts: verdicts(),
    tolerance: toleranceOf(history),
    shown: new Set(),
    wayMs: () => exchange.wayMs + exchange.jitterMs * jitter(),
    faults,
    strike,
    strikes: () => strikes,
    owner: () => owner,
    keyInUse: () => keyInUse,
    takeKey(key) {
      const user = key === "empty" ? key : "own";
      const isOther = history.isUserUntold ? key !== keyInUse : user !== owner;
      if (isOther) committed.forgetPlans();
      owner = user;
      keyInUse = key;
      ledger.isHidden = owner !== "own";
    },
    overtake(run, epoch) {
      // A run that stood still while another one took the account hears of it late.
      const isLate = holder !== undefined && epoch < holder.epoch;
      if (isLate) run.isOvertaken = true;
      else {
        if (holder !== undefined) holder.run.isOvertaken = true;
        holder = { run, epoch };
      }
    },
    schedule(next) {
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
    forgetSchedule: () => void schedule.splice(0),
    trace,
    digest: () => hash.copy().digest("hex"),
  };
}

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
    numericCursor: account.numericCursor,
  };

function kindOf(fault: ScheduledFault): string {
  if (fault.kind !== "too-many-requests") return fault.kind;
  return `${fault.kind}${fault.retryAfterSeconds === undefined ? "" : ", Retry-After"}`;
}

const clockFaults = ["wrong-time", "clock-jump", "late-answer", "late-request", "drip"];
const edgeFaults = ["edge-refuses", "edge-trims", ...clockFaults];
// A signed request is accepted within 30 s of the exchange's clock. An answer's time is accepted
// within 30 s of that, plus the time that the request took, which may be a minute.
const clockOffMaxMs = 150 * secondMs;
// If the exchange refuses its oldest time, the sync asks for time up to ten minutes later.
const edgeLaterMaxMs = 10 * minuteMs;

/** Including those of the processes that faults start. */
const withNested = (faults: readonly ProcessFault[]): readonly ProcessFault[] =>
  faults.flatMap((fault) => [fault, ...(fault.kind === "verify" ? withNested(fault.process) : [])]);

/** How far the exchange's clock jumps at most, forward or back. The jumps of one step may add up. */
function furthestJumpMs(steps: History["steps"], direction: 1 | -1): number {
  const sums = steps.map((step) =>
    step.exchange
      .map((fault) => (fault.kind === "clock-jump" ? direction * fault.offMs : 0))
      .reduce((sum, jumpMs) => sum + Math.max(0, jumpMs), 0),
  );
  return Math.max(0, ...sums);
}

function toleranceOf({ exchange, steps }: History): Tolerance {
  const processFaults = steps.flatMap(({ process }) => withNested(process));
  const exchangeFaults = steps.flatMap((step) => step.exchange.map(({ kind }) => kind as string));
  const pausedMs = processFaults.reduce(
    (sum, fault) => sum + ("forMs" in fault ? fault.forMs : 0),
    0,
  );
  // If the exchange's own clock is wrong for a while, nobody can know better.
  const jumpAheadMs = furthestJumpMs(steps, 1);
  const jumpBackMs = furthestJumpMs(steps, -1);
  const roundTripMs = 2 * (exchange.wayMs + exchange.jitterMs);
  const isClockTried = pausedMs > 0 || exchangeFaults.some((kind) => clockFaults.includes(kind));
  const isEdgeTried = isClockTried || exchangeFaults.some((kind) => edgeFaults.includes(kind));
  const offMs = roundTripMs + 2 + (isClockTried ? clockOffMaxMs : 0);
  return {
    aheadMs: offMs + jumpAheadMs,
    behindMs: offMs + jumpBackMs + pausedMs,
    edgeMs: secondMs + offMs + jumpAheadMs + (isEdgeTried ? edgeLaterMaxMs + pausedMs : 0),
  };
}
