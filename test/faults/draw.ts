import { dayMs, hourMs, minuteMs, secondMs } from "../../src/contract/time.ts";
import { integer, pick, type Random } from "../../src/sandbox/random.ts";
import {
  type Fault,
  type FaultKind,
  type LaterCode,
  laterCodes,
  type ScheduledFault,
  survivableKinds,
} from "./kinds.ts";

export type DrawOptions = {
  /** Each fault begins at one of this many requests. */
  readonly requests: number;
  /** The number of faults. */
  readonly count: number;
  /** Default all kinds that a client can recover from. */
  readonly kinds?: readonly FaultKind[];
};

/**
 * Draws a schedule of faults, ordered by the request at which each begins. Every subset of a
 * schedule is a valid schedule too.
 */
export function drawFaultSchedule(
  random: Random,
  { requests, count, kinds = survivableKinds }: DrawOptions,
): readonly ScheduledFault[] {
  return Array.from({ length: count }, (): ScheduledFault => {
    const atRequest = integer(random, 1, requests);
    const fault = draw[pick(random, kinds)](random);
    const times = integer(random, 1, 3);
    // A client cannot detect an exchange that repeats the same false end, so this fault occurs
    // once.
    return { ...fault, atRequest, times: fault.kind === "false-end" ? 1 : times };
  }).toSorted((a, b) => a.atRequest - b.atRequest);
}

const sign = (random: Random): number => (random() < 0.5 ? -1 : 1);

/** The parameters of each kind. A parameter that is not drawn from `random` is constant. */
const draw: { readonly [Kind in FaultKind]: (random: Random) => Fault & { kind: Kind } } = {
  "too-many-requests": (random) => ({
    kind: "too-many-requests",
    ...(random() < 0.5 && { retryAfterSeconds: integer(random, 0, 5) }),
  }),
  "server-error": (random) => ({
    kind: "server-error",
    status: pick(random, [500, 502, 503, 504] as const),
  }),
  "refused-for-now": (random) => ({
    kind: "refused-for-now",
    code: pick(random, Object.keys(laterCodes) as LaterCode[]),
    status: pick(random, [200, 400] as const),
  }),
  "html-with-200": () => ({ kind: "html-with-200" }),
  "empty-body": () => ({ kind: "empty-body" }),
  "cut-json": (random) => ({ kind: "cut-json", share: random() }),
  "no-data": (random) => ({
    kind: "no-data",
    data: pick(random, ["missing", "null", "empty"] as const),
  }),
  "reset-before-answer": () => ({ kind: "reset-before-answer" }),
  "reset-in-body": (random) => ({ kind: "reset-in-body", share: random() }),
  drip: (random) => ({
    kind: "drip",
    dripMs: secondMs,
    // Some take longer than any client waits, and some do not.
    ...(random() < 0.5 && { bytes: integer(random, 1, 20) }),
  }),
  "late-answer": (random) => ({ kind: "late-answer", holdMs: integer(random, 1, 60) * secondMs }),
  // Shorter than a client's timeout: a request that the client gave up would arrive beside its
  // retry.
  "late-request": (random) => ({ kind: "late-request", holdMs: integer(random, 1, 10) * secondMs }),
  "page-again": () => ({ kind: "page-again" }),
  "rows-reordered": (random) => ({
    kind: "rows-reordered",
    order: pick(random, ["reversed", "rotated"] as const),
  }),
  "page-of-another-time": (random) => ({
    kind: "page-of-another-time",
    olderMs: integer(random, 8, 20) * dayMs,
  }),
  "page-skipped": () => ({ kind: "page-skipped" }),
  "end-id-repeats": () => ({ kind: "end-id-repeats" }),
  "end-id-cycles": (random) => ({ kind: "end-id-cycles", pagesBack: integer(random, 1, 4) }),
  "end-id-foreign": () => ({ kind: "end-id-foreign" }),
  "end-id-newest": () => ({ kind: "end-id-newest" }),
  "end-id-null": () => ({ kind: "end-id-null" }),
  "false-end": () => ({ kind: "false-end" }),
  "wrong-time": (random) => ({
    kind: "wrong-time",
    offMs: sign(random) * integer(random, 1, 25) * pick(random, [secondMs, hourMs]),
  }),
  "clock-jump": (random) => ({
    kind: "clock-jump",
    offMs: sign(random) * integer(random, 1, 25) * pick(random, [secondMs, minuteMs]),
  }),
  "edge-refuses": (random) => ({
    kind: "edge-refuses",
    laterMs: integer(random, 1, 9) * pick(random, [secondMs, minuteMs]),
  }),
  "edge-trims": (random) => ({ kind: "edge-trims", laterMs: integer(random, 1, 60) * minuteMs }),
  maintenance: (random) => ({
    kind: "maintenance",
    forMs: integer(random, 1, 10) * minuteMs,
    says: pick(random, ["40200", "503"] as const),
  }),
};
