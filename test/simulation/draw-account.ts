import { unifiedProductTypes } from "../../src/core/contract/product-types.ts";
import { dayMs, minuteMs, secondMs } from "../../src/lib/time.ts";
import { profiles } from "../../src/wings/sandbox/profiles.ts";
import { integer, pick, type Random, seededRandom } from "../../src/wings/sandbox/random.ts";
import { shuffled } from "../support/shuffled.ts";
import type { AccountKind, History, RecordsKind, Step } from "./history.ts";

/**
 * The history with the account of its seed. Half of the accounts stay classic, and their histories
 * stay as drawn. The others are unified, or change their mode between runs and during runs.
 */
export function withAccount(history: History): History {
  const random = seededRandom(`account ${history.seed}`);
  const draw = random();
  if (draw < 0.5) return history;
  const account = drawAccount(random, history, draw < 0.7);
  const steps = history.steps.map((step) => withEmptyBodies(random, withoutEmptyObjects(step)));
  return { ...history, account, steps };
}

function drawAccount(random: Random, { steps }: History, isUnified: boolean): AccountKind {
  const productTypes = shuffled(random, unifiedProductTypes).slice(0, random() < 0.7 ? 1 : 2);
  const most = Math.max(...productTypes.map((type) => profiles[type].events));
  return {
    modes: isUnified ? [{ atMs: 0, mode: drawUnified(random) }] : drawModes(random, steps),
    productTypes,
    density: (40 + 260 * random() ** 2) / most,
    isFuturesFeeInside: random() < 0.5,
    areIdsReused: random() < 0.3,
    positionsSinceMs: integer(random, -100 * dayMs, 20 * dayMs),
    numericCursor: random() < 0.3,
  };
}

const drawUnified = (random: Random): string => (random() < 0.8 ? "unified" : "hybrid");

/**
 * Changes to the other mode, and maybe back. Between two modes there is a time in which neither API
 * serves the account.
 */
function drawModes(random: Random, steps: readonly Step[]): AccountKind["modes"] {
  const isClassicFirst = random() < 0.8;
  const first = isClassicFirst ? "classic" : drawUnified(random);
  const times = changeTimes(random, steps);
  const changes = times.flatMap((atMs, index) => {
    const becomesUnified = isClassicFirst === (index % 2 === 0);
    const transit = becomesUnified ? "upgrading" : "switching";
    const next = becomesUnified ? drawUnified(random) : "classic";
    const tookMs = integer(random, 0, pick(random, [0, minuteMs, 10 * minuteMs]));
    return [
      ...(tookMs === 0 ? [] : [{ atMs, mode: random() < 0.9 ? transit : "in_review" }]),
      { atMs: atMs + tookMs, mode: next },
    ];
  });
  return [{ atMs: 0, mode: first }, ...changes];
}

/**
 * Some changes come during a run, which mostly takes less than a minute, or right before the next
 * run; others come days apart.
 */
function changeTimes(random: Random, steps: readonly Step[]): readonly number[] {
  const count = random() < 0.6 ? 1 : 2;
  let beganMs = 0;
  const times = steps.map(({ passMs }) => {
    const beforeMs = beganMs;
    beganMs += passMs;
    return random() < 0.5 || passMs === 0
      ? beganMs + integer(random, 1, pick(random, [5, 20, 60])) * secondMs
      : integer(random, beforeMs, beganMs);
  });
  const chosen = shuffled(random, times)
    .slice(0, count)
    .toSorted((a, b) => a - b);
  return chosen.filter((time, index) => time - (chosen[index - 1] ?? -dayMs) >= dayMs / 24);
}

/**
 * The last page of a unified account's API may be an empty object. As a fault in both answers about
 * a window's end, it would be a false end that no client can detect.
 */
const withoutEmptyObjects = (step: Step): Step => ({
  ...step,
  exchange: step.exchange.map((fault) =>
    fault.kind === "no-data" && fault.data === "empty" ? { ...fault, data: "null" } : fault,
  ),
});

/** The real exchange was seen to send empty answers for a while. */
function withEmptyBodies(random: Random, step: Step): Step {
  if (random() < 0.8) return step;
  const atRequest = integer(random, 1, 30);
  // All windows of a run ask side by side, and each asks twice before it believes that there is nothing.
  const times = integer(random, 1, pick(random, [3, 40]));
  return { ...step, exchange: [...step.exchange, { kind: "empty-body", atRequest, times }] };
}

const wrongKinds = ["without-last", "without-first", "amounts", "refused"] as const;

/** In four of ten histories, tax records are wanted. */
export function withRecords(history: History): History {
  const random = seededRandom(`records ${history.seed}`);
  if (random() >= 0.4) return history;
  const records: RecordsKind = {
    wantedMs: integer(random, 91 * dayMs, 220 * dayMs),
    moreDays: integer(random, 0, 20),
    kind: random() < 0.7 ? "equal" : pick(random, wrongKinds),
    crowd: random() < 0.2 ? integer(random, 500, 700) : 0,
  };
  return { ...history, records };
}

/**
 * In three of ten histories, runs have other keys than the account's. Some begin with the key of a user without bills. A
 * second name is drawn only where the account stays classic and its user is told: two names of a user may share his ledgers.
 */
export function withKeys(history: History): History {
  const random = seededRandom(`keys ${history.seed}`);
  if (random() >= 0.3) return history;
  const isClassic = history.account === undefined;
  const isUserUntold = isClassic && random() < 0.4;
  const later = ["second", "other", "empty"] as const;
  const kinds = isClassic && !isUserUntold ? ([...later, "twice"] as const) : later;
  const isEmptyFirst = random() < 0.5;
  const steps = history.steps.map((step, index) => {
    if (index === 0) return isEmptyFirst ? { ...step, key: "empty" as const } : step;
    return random() < 0.5 ? { ...step, key: pick(random, kinds) } : step;
  });
  return { ...history, ...(isUserUntold && { isUserUntold }), steps };
}
