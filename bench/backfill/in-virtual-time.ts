import { billsApiOf } from "../../src/contract/bills-api.ts";
import { epochMs, minuteMs, secondMs } from "../../src/contract/time.ts";
import { exchangeOf } from "../../src/exchange/session.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import { createSandbox } from "../../src/sandbox/sandbox.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import { isComplete, syncAccount } from "../../src/sync/run.ts";
import type { HeldAccount, Store } from "../../src/sync/store.ts";
import { accountOf, transportOf } from "../../test/support/simulation.ts";
import { virtualClock } from "../../test/support/virtual-clock.ts";
import type { ExchangeOptions } from "./exchange.ts";
import { makeBills, necessaryRequests, productTypesOf } from "./ledger.ts";

/** A first sync where neither processor nor database takes any time. */
export type VirtualBackfill = {
  readonly necessary: number;
  readonly seconds: number;
  /** When each request arrived at the exchange, seconds after the beginning. */
  readonly arrivals: readonly number[];
};

const startedAt = epochMs(Date.UTC(2026, 3, 30, 23, 59, 58, 765));

/** The exchange and the way to it as in real time, before the program's sync of one account. */
export async function backfillInVirtualTime(options: ExchangeOptions): Promise<VirtualBackfill> {
  const { kind, shape, bills, meanMs, spreadMs } = options;
  const time = virtualClock(startedAt);
  const { clock } = time;
  const sinceStart = () => (time.now() - startedAt) / secondMs;
  const ledger = makeBills(kind, shape, bills, startedAt);
  const random = seededRandom(`${shape} ${meanMs}`);
  const productTypes = productTypesOf(kind);
  const [{ operation }] = productTypes.map(billsApiOf) as [ReturnType<typeof billsApiOf>];
  const arrivals: number[] = [];
  const sandbox = createSandbox({
    seed: 1,
    density: 0,
    now: time.now,
    modes: [{ at: Number.NEGATIVE_INFINITY, mode: kind }],
    alterLedger: ({ now }) => ({ now, bills: ledger }),
    wrapAnswer: (answer) => (request) => {
      if (request.path === operation.path) arrivals.push(Number(sinceStart().toFixed(3)));
      return answer(request);
    },
  });
  const account = accountOf(sandbox, productTypes);
  const latencyMs = () => (meanMs - spreadMs + 2 * spreadMs * random()) / 2;
  const transport = transportOf(sandbox, time, { latencyMs });
  const baseUrl = new URL("http://127.0.0.1");
  const held = memory();
  const report = await time.run(
    syncAccount(
      {
        exchangeOf: () =>
          exchangeOf({ baseUrl, locale: "en-US" }, account, { transport, clock, random }),
        takeLease: async () => held,
        settleLagMs: 10 * minuteMs,
        sleep: clock.sleep,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        onFailure: () => undefined,
      },
      account,
    ),
  );
  if (!isComplete(report)) throw report.error ?? new Error("the sync is not complete");
  if (held.size !== bills) throw new Error(`${held.size} of ${bills} bills were served`);
  return { necessary: necessaryRequests(kind, ledger, startedAt), seconds: sinceStart(), arrivals };
}

/** Keeps what a first sync needs of a database, and the ids of what was served. */
function memory(): HeldAccount & AsyncDisposable & { readonly size: number } {
  const ids = new Set<string>();
  const coverage = new Map<string, readonly Interval[]>();
  const coverageOf = (productType: string): readonly Interval[] => coverage.get(productType) ?? [];
  const store: Store = {
    accountState: async () => ({ mode: undefined, notAvailable: [], closed: [] }),
    closeStreamsOfOtherMode: async () => undefined,
    recordAvailability: async () => undefined,
    knownTime: async ({ productType }) => ({
      coverage: coverageOf(productType).toSorted((a, b) => a.from - b.from),
      lost: [],
      open: [],
    }),
    unstored: async () => ({ bills: [], rejected: [] }),
    recordPlan: async () => undefined,
    async commitPage({ stream: { productType }, bills, next }) {
      const before = ids.size;
      for (const { billId } of bills) ids.add(`${productType}/${billId}`);
      if ("end" in next) {
        coverage.set(productType, [...coverageOf(productType), ...next.end.proven]);
      }
      const added = ids.size - before;
      return { new: added, unchanged: bills.length - added, restated: 0, rejected: 0 };
    },
    divideWindow: async () => undefined,
    commitLoanToValue: async () => "first",
  };
  return {
    store,
    assertHeld: () => undefined,
    get size() {
      return ids.size;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
