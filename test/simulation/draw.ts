import { classicProductTypes } from "../../src/core/contract/product-types.ts";
import { dayMs, hourMs, minuteMs, secondMs } from "../../src/lib/time.ts";
import { profiles } from "../../src/wings/sandbox/profiles.ts";
import { integer, pick, type Random, seededRandom } from "../../src/wings/sandbox/random.ts";
import {
  answerlessKinds,
  drawFaultSchedule,
  type ScheduledFault,
  survivableKinds,
} from "../exchange/kinds.ts";
import { type BrokenRow, brokenRows } from "../exchange/ledger.ts";
import type { Paging, Quirks } from "../exchange/quirks.ts";
import { shuffled } from "../support/shuffled.ts";
import { withAccount, withKeys, withRecords } from "./draw-account.ts";
import { withHealing } from "./draw-healing.ts";
import type {
  DatabaseFault,
  History,
  LedgerKind,
  ProcessFault,
  RecentBill,
  Step,
} from "./history.ts";

/** What the documentation leaves open, but for pages that are short in one of two ways, or in none. */
const open: { readonly [Name in keyof Quirks]: readonly Quirks[Name][] } = {
  bounds: ["both", "start", "end", "neither"],
  lastPage: ["empty-string", "null-id", "no-id", "null-bills", "same-id"],
};
const shortPages: readonly Quirks[] = [
  { shortLastPage: false, shortPages: false },
  { shortLastPage: true, shortPages: false },
  { shortLastPage: false, shortPages: true },
];
const openToo: typeof open = {
  pageOrder: ["newest-first", "oldest-first", "shuffled"],
  sortedBy: ["time", "id"],
  inclusiveCursor: [false, true],
  pastHorizon: ["trim", "refuse", "serve"],
};

const choicesOf = (questions: typeof open): readonly (readonly Quirks[])[] =>
  Object.entries(questions).map(([name, answers]) => answers.map((answer) => ({ [name]: answer })));

/** Every combination: 2,160. */
export const exchangeKinds: readonly Quirks[] = [
  ...choicesOf(open),
  shortPages,
  ...choicesOf(openToo),
].reduce((kinds, choices) =>
  kinds.flatMap((kind) => choices.map((choice) => ({ ...kind, ...choice }))),
);

/** The history of a seed, which is always the same. */
export function drawHistory(seed: number): History {
  const random = seededRandom(`history ${seed}`);
  // 101 and 2,160 have no common factor, so successive seeds take all combinations in turn.
  const quirks = exchangeKinds[(seed * 101) % exchangeKinds.length];
  if (quirks === undefined) throw new RangeError(`a seed is a whole number from 0, not ${seed}`);
  const steps = drawSteps(random);
  const spanMs = steps.reduce((sum, { passMs }) => sum + passMs, 0);
  const plain: History = {
    seed,
    exchange: {
      quirks,
      wayMs: integer(random, 5, 400),
      jitterMs: random() < 0.5 ? 0 : integer(random, 1, 300),
    },
    ledger: drawLedger(random, seed, spanMs),
    steps,
  };
  const drawn = [
    withAccount,
    withRecords,
    withKeys,
    withOtherFaults,
    withTinyPages,
    withPaging,
    withAnotherTime,
    withHealing,
  ];
  return drawn.reduce((history, draw) => draw(history), plain);
}

/** One exchange in eight pages in a way that nobody has documented. */
function withPaging(history: History): History {
  const random = seededRandom(`paging ${history.seed}`);
  if (random() >= 0.125) return history;
  const { exchange } = history;
  const { shortPages = false, shortLastPage = false } = exchange.quirks;
  // Of oldest pages that are short at random, no client could know what follows them.
  const isShort = shortPages || shortLastPage;
  const paging = pick(random, isShort ? pagings.slice(1) : pagings)(random);
  return { ...history, exchange: { ...exchange, quirks: { ...exchange.quirks, paging } } };
}

const pagings: readonly ((random: Random) => Paging)[] = [
  () => ({ kind: "oldest-first" }),
  () => ({ kind: "filtered", empty: "list" }),
  () => ({ kind: "filtered", empty: "null" }),
  (random) => ({ kind: "shrinking", after: integer(random, 1, 60), rows: integer(random, 3, 20) }),
];

/** In one history of twenty, all pages of a step's first requests are of another time. */
function withAnotherTime(history: History): History {
  const random = seededRandom(`another ${history.seed}`);
  if (random() >= 0.05) return history;
  const kinds = ["page-of-another-time"] as const;
  const faults = drawFaultSchedule(random, { requests: 1, count: 1, kinds });
  const always = faults.map((fault) => ({ ...fault, times: 40 }));
  const at = integer(random, 0, history.steps.length - 1);
  const steps = history.steps.map((step, place) =>
    place === at ? { ...step, exchange: [...step.exchange, ...always] } : step,
  );
  return { ...history, steps };
}

/** In one step of four, faults strike requests that are not for bills. */
function withOtherFaults(history: History): History {
  const random = seededRandom(`others ${history.seed}`);
  const requests = history.records === undefined ? 4 : 12;
  const steps = history.steps.map((step) => {
    if (random() < 0.06) return { ...step, exchange: [...step.exchange, ...wrongAtFirst(random)] };
    if (random() >= 0.25) return step;
    const count = integer(random, 1, 3);
    const faults = drawFaultSchedule(random, { requests, count, kinds: answerlessKinds });
    const ofOthers = faults.map((fault) => ({ ...fault, of: "others" as const }));
    return { ...step, exchange: [...step.exchange, ...ofOthers] };
  });
  return { ...history, steps };
}

/** The first answers state one wrong time, whatever is asked for: no other answer would set the clock right. */
function wrongAtFirst(random: Random): readonly ScheduledFault[] {
  const faults = drawFaultSchedule(random, { requests: 1, count: 1, kinds: ["wrong-time"] });
  return faults.flatMap((fault) => [fault, { ...fault, of: "others" as const }]);
}

/**
 * One exchange in twenty has pages of few rows; its ledger has fewer bills. It has no rows that break the contract: a
 * page with only such rows may have no id from which the walk can continue.
 */
function withTinyPages(history: History): History {
  const random = seededRandom(`pages ${history.seed}`);
  if (random() >= 0.05) return history;
  const { exchange, ledger, account, steps } = history;
  const quirks = {
    ...exchange.quirks,
    pageRows: exchange.quirks.shortPages ? 12 : integer(random, 3, 12),
  };
  const fewer = <Kind extends { readonly density: number }>(kind: Kind) => ({
    ...kind,
    density: kind.density / 10,
  });
  return {
    ...history,
    exchange: { ...exchange, quirks },
    ledger: { ...fewer(ledger), bursts: [], brokenRows: 0 },
    ...(account && { account: fewer(account) }),
    steps: steps.map((step) => ({
      ...step,
      recent: step.recent.map(({ broken: _, ...bill }) => bill),
    })),
  };
}

function drawLedger(random: Random, seed: number, spanMs: number): LedgerKind {
  const wanted = shuffled(random, classicProductTypes).slice(0, random() < 0.7 ? 1 : 2);
  const futureDays = Math.ceil(spanMs / dayMs) + 3;
  // Some 60 to 400 trades in 90 days, in addition to what each product type always has.
  const most = Math.max(...wanted.map((productType) => profiles[productType].events));
  // Each makes a window of several pages.
  const bursts = Array.from({ length: integer(random, 1, 3) }, () => ({
    atMs: integer(random, -80 * dayMs, Math.max(0, spanMs - dayMs)),
    bills: integer(random, 120, 320),
  }));
  return {
    seed,
    productTypes: wanted,
    futureDays,
    density: (60 + 340 * random() ** 2) / most,
    bursts,
    oddDecimals: integer(random, 0, 4),
    brokenRows: random() < 0.3 ? integer(random, 1, 8) : 0,
    idJitterMs: drawIdJitter(seededRandom(`ids ${seed}`)),
    edgeBills: random() < 0.8,
  };
}

/**
 * In half of the exchanges, ids rise with the times; in the others they deviate by up to an hour.
 */
const drawIdJitter = (random: Random): number =>
  random() < 0.5 ? 0 : Math.round(hourMs ** random());

function drawSteps(random: Random): readonly Step[] {
  const machineAheadMs = random() < 0.7 ? 0 : integer(random, -6 * hourMs, 6 * hourMs);
  return Array.from({ length: integer(random, 2, 6) }, (_, index): Step => {
    const isFirst = index === 0;
    // The 13 windows of a first run take many more requests than those of a later run.
    const requests = isFirst ? 40 : 10;
    const effects = isFirst ? 600 : 120;
    const isFaulty = random() < 0.7;
    const has = (share: number) => isFaulty && random() < share;
    return {
      passMs: isFirst ? 0 : drawPause(random),
      aheadMs: random() < 0.8 ? machineAheadMs : integer(random, -6 * hourMs, 6 * hourMs),
      recent: drawRecent(random),
      exchange: has(0.5)
        ? withOneFalseEnd(random, drawExchangeFaults(random, requests), requests)
        : [],
      database: has(0.3)
        ? Array.from({ length: integer(random, 1, 2) }, () => drawDatabaseFault(random, effects))
        : [],
      process: [
        ...(has(0.5) ? [drawProcessFault(random, effects)] : []),
        ...(has(0.2) ? [drawVerify(random, effects)] : []),
      ],
    };
  });
}

/** Faults of a walk's cursor: they matter only if a window has several pages. */
const cursorFaults = [
  "end-id-foreign",
  "end-id-repeats",
  "end-id-cycles",
  "end-id-newest",
  "end-id-null",
  "page-again",
  "page-of-another-time",
] as const;

function drawExchangeFaults(random: Random, requests: number): readonly ScheduledFault[] {
  if (random() < 0.2)
    return drawFaultSchedule(random, { requests, count: 10, kinds: cursorFaults });
  if (random() < 0.1) {
    const edge = drawFaultSchedule(random, { requests: 1, count: 1, kinds: ["edge-refuses"] });
    // It strikes whichever request asks for the oldest time.
    return edge.map((fault) => ({ ...fault, times: requests }));
  }
  // The first request is the one that proves the clock.
  const among = pick(random, [1, 5, requests]);
  const count = integer(random, 1, 4);
  return drawFaultSchedule(random, { requests: among, count, kinds: firstKinds });
}

// The kinds of the first version. A new kind among them would change every history.
const firstKinds = survivableKinds.filter((kind) => kind !== "empty-body");

const isNoFalseEnd = ({ kind }: ScheduledFault): boolean => kind !== "false-end";

/** A second fault might repeat a false answer to a second question. */
function withOneFalseEnd(
  random: Random,
  faults: readonly ScheduledFault[],
  requests: number,
): readonly ScheduledFault[] {
  const others = faults.filter(isNoFalseEnd);
  return random() < 0.5
    ? others
    : [...others, { kind: "false-end", atRequest: integer(random, 1, requests) }];
}

const pauses = [
  [16 * secondMs, 20 * minuteMs],
  [20 * minuteMs, 30 * hourMs],
  [dayMs, 20 * dayMs],
  [20 * dayMs, 120 * dayMs],
] as const;

function drawPause(random: Random): number {
  const [least, most] = pick(random, random() < 0.85 ? pauses.slice(0, 3) : pauses);
  return integer(random, least, most);
}

// Within the settle lag, and long after it.
const lateness = [0, 0, secondMs, minuteMs, 8 * minuteMs, hourMs, 8 * dayMs];

const restatedWithin = [secondMs, 20 * secondMs, 9 * minuteMs, dayMs];

// They are added when the sync begins, so no earlier sync can have called their time complete.
const recentMs = 7 * minuteMs;

function drawRecent(random: Random): readonly RecentBill[] {
  return Array.from({ length: integer(random, 0, 8) }, (): RecentBill => {
    const draw = random();
    return {
      agoMs: integer(random, 1, recentMs),
      lateMs: pick(random, lateness),
      ...(draw < 0.5 && {
        restatedAfterMs: integer(random, 1, pick(random, restatedWithin)),
      }),
      ...(draw > 0.9 && { broken: pick(random, Object.keys(brokenRows) as BrokenRow[]) }),
    };
  });
}

function drawDatabaseFault(random: Random, effects: number): DatabaseFault {
  const of = random() < 0.6 ? "commit" : "statement";
  // A page takes five statements, and each statement has two effects.
  return {
    of,
    at: integer(random, 1, of === "commit" ? effects / 10 : effects / 2),
    kind: pick(random, ["fails", "cut-before", "cut-after"]),
  };
}

const processFaults = ["kill", "kill", "stop", "freeze", "freeze", "suspend", "second"] as const;

function drawVerify(random: Random, effects: number): ProcessFault {
  return {
    kind: "verify",
    at: integer(random, 1, effects),
    days: pick(random, [1, 1, 8, 90]),
    process: random() < 0.6 ? [drawVerifyFault(random)] : [],
  };
}

function drawVerifyFault(random: Random): ProcessFault {
  const effects = 60;
  if (random() < 0.3) return drawProcessFault(random, effects);
  // Shorter than its lease: afterwards the process continues with what it has read.
  const forMs = integer(random, 1, 12) * secondMs;
  return { kind: "freeze", at: integer(random, 1, effects), forMs };
}

function drawProcessFault(random: Random, effects: number): ProcessFault {
  const at = integer(random, 1, effects);
  const kind = pick(random, processFaults);
  switch (kind) {
    case "freeze":
      return { kind, at, forMs: integer(random, 1, random() < 0.3 ? 14 : 60) * secondMs };
    case "suspend":
      return { kind, at, forMs: integer(random, 1, pick(random, [20, 3_600])) * secondMs };
    default:
      return { kind, at };
  }
}
