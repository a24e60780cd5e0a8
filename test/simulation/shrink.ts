import { dayMs } from "../../src/contract/time.ts";
import type { ScheduledFault } from "../faults/kinds.ts";
import type {
  AccountKind,
  History,
  LedgerKind,
  ProcessFault,
  RecentBill,
  Step,
} from "./history.ts";

// A play takes some tenths of a second, less with a small history.
const playsMax = 400;

/**
 * Finds a smaller history that breaks the same promise: removes steps, faults and quirks greedily,
 * as long as it still breaks.
 * @param stillBreaks plays a history; whether the same promise is broken.
 */
export async function shrink(
  history: History,
  stillBreaks: (candidate: History) => Promise<boolean>,
): Promise<History> {
  const tried = new Set<string>();
  const breaks = async (candidate: History): Promise<boolean> => {
    const text = JSON.stringify(candidate);
    if (tried.has(text) || tried.size >= playsMax) return false;
    tried.add(text);
    return stillBreaks(candidate);
  };
  let smallest = history;
  for (let before: History | undefined; before !== smallest; ) {
    before = smallest;
    for (const simpler of reductions) smallest = await reduced(smallest, simpler, breaks);
  }
  return smallest;
}

type Simpler = (history: History) => readonly History[];

/** Tries all candidates, and keeps each that still breaks the promise. */
async function reduced(
  history: History,
  simpler: Simpler,
  breaks: (candidate: History) => Promise<boolean>,
): Promise<History> {
  let smallest = history;
  let candidates = simpler(smallest);
  for (let place = 0; place < candidates.length; ) {
    const candidate = candidates[place];
    if (candidate !== undefined && (await breaks(candidate))) {
      smallest = candidate;
      candidates = simpler(smallest);
    } else {
      place += 1;
    }
  }
  return smallest;
}

const eventLists = ["recent", "exchange", "database", "process"] as const;

const uneventful = { recent: [], exchange: [], database: [], process: [] } as const;

function simplerHistories(history: History): readonly History[] {
  const { steps, exchange } = history;
  const isEventful = steps.some((step) => eventLists.some((list) => step[list].length > 0));
  const quirks = Object.entries(exchange.quirks);
  const simplerKinds: readonly Partial<History["exchange"]>[] = [
    ...fewer(quirks).map((some) => ({ quirks: Object.fromEntries(some) })),
    ...(exchange.pastHorizon === "trim" ? [] : [{ pastHorizon: "trim" as const }]),
    ...(exchange.jitterMs === 0 ? [] : [{ jitterMs: 0 }]),
  ];
  const { records, ...ofBills } = history;
  return [
    ...(records === undefined ? [] : [ofBills]),
    ...(records?.crowd ? [{ ...history, records: { ...records, crowd: 0 } }] : []),
    ...(isEventful
      ? [{ ...history, steps: steps.map((step) => ({ ...step, ...uneventful })) }]
      : []),
    ...simplerKinds.map((but) => ({ ...history, exchange: { ...exchange, ...but } })),
  ];
}

/** Without some of the steps; or without one, whose time passes before the next step. */
function fewerSteps(history: History): readonly History[] {
  const { steps } = history;
  const merged = steps.slice(1).map((next, index) => {
    const passMs = (steps[index]?.passMs ?? 0) + next.passMs;
    return steps.toSpliced(index, 2, { ...next, passMs });
  });
  return [...fewer(steps), ...merged]
    .filter(({ length }) => length > 0)
    .map((some) => ({ ...history, steps: some }));
}

const eachStep =
  (simpler: (step: Step) => readonly Step[]) =>
  (history: History): readonly History[] =>
    history.steps.flatMap((step, index) =>
      simpler(step).map((other) => ({ ...history, steps: history.steps.with(index, other) })),
    );

const fewerEvents = eachStep((step) => [
  ...fewer(step.recent).map((recent) => ({ ...step, recent })),
  ...fewer(step.exchange).map((exchange) => ({ ...step, exchange })),
  ...fewer(step.database).map((database) => ({ ...step, database })),
  ...fewer(step.process).map((process) => ({ ...step, process })),
  ...(step.aheadMs === 0 ? [] : [{ ...step, aheadMs: 0 }]),
]);

const simplerEvents = eachStep((step) => [
  ...oneOther(step.recent, simplerBill).map((recent) => ({ ...step, recent })),
  ...oneOther(step.exchange, once).map((exchange) => ({ ...step, exchange })),
  ...oneOther(step.process, unharmed).map((process) => ({ ...step, process })),
]);

function simplerBill(bill: RecentBill): readonly RecentBill[] {
  const { restatedAfterMs, ...unchanged } = bill;
  const { broken, ...right } = bill;
  return [
    ...(restatedAfterMs === undefined ? [] : [unchanged]),
    ...(broken === undefined ? [] : [right]),
    ...(bill.lateMs === 0 ? [] : [{ ...bill, lateMs: 0 }]),
  ];
}

const once = ({ times, ...fault }: ScheduledFault): readonly ScheduledFault[] =>
  times === undefined ? [] : [fault];

const unharmed = (fault: ProcessFault): readonly ProcessFault[] =>
  fault.kind === "verify" ? fewer(fault.process).map((process) => ({ ...fault, process })) : [];

function simplerLedgers(history: History): readonly History[] {
  const { ledger } = history;
  const { productTypes, bursts, oddDecimals, brokenRows, idJitterMs, edgeBills, density } = ledger;
  const buts: readonly Partial<LedgerKind>[] = [
    ...fewer(bursts).map((some) => ({ bursts: some })),
    ...fewer(productTypes)
      .filter(({ length }) => length > 0)
      .map((some) => ({ productTypes: some })),
    ...(oddDecimals > 0 ? [{ oddDecimals: 0 }] : []),
    ...(brokenRows > 0 ? [{ brokenRows: 0 }] : []),
    ...(idJitterMs > 0 ? [{ idJitterMs: 0 }] : []),
    ...(brokenRows > 1 ? [{ brokenRows: 1 }] : []),
    ...(edgeBills ? [{ edgeBills: false }] : []),
    ...(density > 0.01 ? [{ density: density / 4 }] : []),
  ];
  return buts.map((but) => ({ ...history, ledger: { ...ledger, ...but } }));
}

/** An account with fewer product types, fewer modes and fewer quirks. */
function simplerAccounts(history: History): readonly History[] {
  const { account } = history;
  if (account === undefined) return [];
  const { modes, productTypes } = account;
  const buts: readonly Partial<AccountKind>[] = [
    ...fewer(productTypes).map((some) => ({ productTypes: some })),
    ...fewer(modes).map((some) => ({ modes: some })),
    ...(account.isFuturesFeeInside ? [{ isFuturesFeeInside: false }] : []),
    ...(account.areIdsReused ? [{ areIdsReused: false }] : []),
    ...(account.numericCursor ? [{ numericCursor: false }] : []),
    ...(account.density > 0.01 ? [{ density: account.density / 4 }] : []),
  ];
  return buts
    .map((but) => ({ ...history, account: { ...account, ...but } }))
    .filter(({ account: { modes, productTypes } }) => modes.length > 0 && productTypes.length > 0);
}

/** A ledger that ends with the steps, or at their start, after which nothing new happens. */
function nearerEnds(history: History): readonly History[] {
  const { ledger, steps } = history;
  const spanMs = steps.reduce((sum, { passMs }) => sum + passMs, 0);
  return [0, Math.ceil(spanMs / dayMs) + 1]
    .filter((futureDays) => futureDays < ledger.futureDays)
    .map((futureDays) => ({ ...history, ledger: { ...ledger, futureDays } }));
}

/** No items; each half; all but one. */
function fewer<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2);
  return [
    ...(items.length > 1 ? [[]] : []),
    ...(items.length > 3 ? [items.slice(0, middle), items.slice(middle)] : []),
    ...items.map((_, index) => items.toSpliced(index, 1)),
  ];
}

const oneOther = <Item>(
  items: readonly Item[],
  others: (item: Item) => readonly Item[],
): readonly (readonly Item[])[] =>
  items.flatMap((item, index) => others(item).map((other) => items.with(index, other)));

// A simpler event may depend on others, so these are tried first.
const reductions: readonly Simpler[] = [
  simplerHistories,
  fewerSteps,
  fewerEvents,
  nearerEnds,
  simplerLedgers,
  simplerAccounts,
  simplerEvents,
];
