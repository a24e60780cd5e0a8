import type { History, Step } from "./history.ts";

// Each play takes some tenths of a second.
const playsMax = 150;

/**
 * A smaller history that breaks a promise too: greedily without steps, faults and quirks, for
 * as long as it still does.
 * @param stillBreaks plays a history; whether the same promise is broken.
 */
export async function shrink(
  history: History,
  stillBreaks: (candidate: History) => Promise<boolean>,
): Promise<History> {
  let smallest = history;
  let plays = 0;
  for (let progress = true; progress && plays < playsMax; ) {
    progress = false;
    for (const candidate of smaller(smallest)) {
      if (plays++ >= playsMax) break;
      if (!(await stillBreaks(candidate))) continue;
      smallest = candidate;
      progress = true;
      break;
    }
  }
  return smallest;
}

/** Every history that is one thing simpler, the largest things first. */
function* smaller(history: History): Generator<History> {
  const { steps, ledger, exchange } = history;
  if (steps.some(isEventful)) yield { ...history, steps: steps.map(uneventful) };
  if (steps.length > 2) yield { ...history, steps: steps.slice(0, steps.length / 2) };
  for (const index of steps.keys()) {
    if (steps.length > 1) yield { ...history, steps: without(steps, index) };
  }
  if (Object.keys(exchange.quirks).length > 1) {
    yield { ...history, exchange: { ...exchange, quirks: {} } };
  }
  for (const [index, step] of steps.entries()) {
    for (const simpler of simplerSteps(step)) {
      yield { ...history, steps: steps.with(index, simpler) };
    }
  }
  const simplerLedgers = [
    ...eachLeftOut(ledger.productTypes).map((productTypes) => ({ productTypes })),
    ...(ledger.bursts.length > 0 ? [{ bursts: [] }] : []),
    ...(ledger.oddDecimals > 0 ? [{ oddDecimals: 0 }] : []),
    ...(ledger.brokenRows > 0 ? [{ brokenRows: 0 }] : []),
    ...(ledger.edgeBills ? [{ edgeBills: false }] : []),
    ...(ledger.density > 0.01 ? [{ density: ledger.density / 4 }] : []),
  ];
  for (const but of simplerLedgers) yield { ...history, ledger: { ...ledger, ...but } };
  for (const name of Object.keys(exchange.quirks)) {
    const quirks = Object.fromEntries(
      Object.entries(exchange.quirks).filter(([other]) => other !== name),
    );
    yield { ...history, exchange: { ...exchange, quirks } };
  }
  if (exchange.pastHorizon !== "trim") {
    yield { ...history, exchange: { ...exchange, pastHorizon: "trim" } };
  }
  if (exchange.jitterMs > 0) yield { ...history, exchange: { ...exchange, jitterMs: 0 } };
}

const eventLists = ["recent", "exchange", "database", "process"] as const;

const isEventful = (step: Step): boolean => eventLists.some((list) => step[list].length > 0);

const uneventful = (step: Step): Step => ({
  ...step,
  recent: [],
  exchange: [],
  database: [],
  process: [],
});

function* simplerSteps(step: Step): Generator<Step> {
  for (const list of eventLists) {
    if (step[list].length > 1) yield { ...step, [list]: [] };
    for (const index of step[list].keys()) {
      yield { ...step, [list]: step[list].filter((_, other) => other !== index) };
    }
  }
  if (step.aheadMs !== 0) yield { ...step, aheadMs: 0 };
}

const without = <Item>(items: readonly Item[], index: number): readonly Item[] =>
  items.toSpliced(index, 1);

const eachLeftOut = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  items.length < 2 ? [] : items.map((_, index) => without(items, index));
