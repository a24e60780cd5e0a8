import { dayMs, hourMs, minuteMs, secondMs } from "../../src/lib/time.ts";
import { integer, pick, type Random } from "../../src/wings/sandbox/random.ts";

/** Refusals that mean "later". Each may come with HTTP 200 as well as with 400. */
export const laterCodes = {
  "40010": "Request timed out",
  "40015": "System is abnormal, please try again later",
  "40200": "Server upgrade, please try again later",
  "40725": "service return an error",
  "40808": "Parameter verification exception",
  "45001": "Unknown error",
} as const;

export type LaterCode = keyof typeof laterCodes;

/**
 * What a correct client does about a temporary fault. `recovers`: it retries within the run, or the
 * rows are right anyway. `stops`: it may stop a window or the product type with an error that names
 * it, so that a later run reads it anew. `cannot-know`: the contract allows the answer.
 */
type Expectation = "recovers" | "stops" | "cannot-know";

const kind = <Expected extends Expectation, Parameters>(
  expected: Expected,
  draw: (random: Random) => Parameters,
) => ({ expected, draw });
const sign = (random: Random): number => (random() < 0.5 ? -1 : 1);

/** What a faulty exchange does to a request, and how the parameters of each kind are drawn. Times in ms. */
export const faultKinds = {
  /** 429, with or without Retry-After. */
  "too-many-requests": kind("recovers", (random) => ({
    ...(random() < 0.5 && { retryAfterSeconds: integer(random, 0, 5) }),
  })),
  /** A gateway's HTML page. */
  "server-error": kind("recovers", (random) => ({
    status: pick(random, [500, 502, 503, 504] as const),
  })),
  "refused-for-now": kind("recovers", (random) => ({
    code: pick(random, Object.keys(laterCodes) as LaterCode[]),
    status: pick(random, [200, 400] as const),
  })),
  "html-with-200": kind("recovers", () => ({})),
  /** A success with an empty body. */
  "empty-body": kind("recovers", () => ({})),
  /** A complete HTTP answer whose JSON is cut at this share of its bytes, 0 to 1. */
  "cut-json": kind("recovers", (random) => ({ share: random() })),
  /** A success code whose data is missing, null or an empty object. */
  "no-data": kind("recovers", (random) => ({
    data: pick(random, ["missing", "null", "empty"] as const),
  })),
  "reset-before-answer": kind("recovers", () => ({})),
  /** The connection breaks at this share of the body's bytes, 0 to 1. */
  "reset-in-body": kind("recovers", (random) => ({ share: random() })),
  /** The first `bytes` bytes come one by one, the rest at once. Default all: longer than any client waits. */
  drip: kind("recovers", (random) => ({
    dripMs: secondMs as number,
    ...(random() < 0.5 && { bytes: integer(random, 1, 20) }),
  })),
  /** The request is counted at once; the answer is delayed. */
  "late-answer": kind("recovers", (random) => ({ holdMs: integer(random, 1, 60) * secondMs })),
  /**
   * The request is delayed on its way, and counted when it arrives. Shorter than a client's timeout: a request that
   * the client gave up would arrive beside its retry.
   */
  "late-request": kind("recovers", (random) => ({ holdMs: integer(random, 1, 10) * secondMs })),
  /** Repeats the previous page, with its endId. */
  "page-again": kind("recovers", () => ({})),
  "rows-reordered": kind("recovers", (random) => ({
    order: pick(random, ["reversed", "rotated"] as const),
  })),
  /** A page of bills that are this much older, as if it answered another request. */
  "page-of-another-time": kind("stops", (random) => ({ olderMs: integer(random, 8, 20) * dayMs })),
  /** The page after the right one: the bills between are never served. */
  "page-skipped": kind("cannot-know", () => ({})),
  /** The endId equals the cursor of the request. */
  "end-id-repeats": kind("recovers", () => ({})),
  /** The endId equals the cursor of this many pages before. */
  "end-id-cycles": kind("recovers", (random) => ({ pagesBack: integer(random, 1, 4) })),
  /** The endId is no bill's id. */
  "end-id-foreign": kind("recovers", () => ({})),
  /** The endId is the page's newest bill. */
  "end-id-newest": kind("recovers", () => ({})),
  /** No endId, as if no bill followed the page. */
  "end-id-null": kind("recovers", () => ({})),
  /** An empty page instead of one with bills, as if no bill were left. */
  "false-end": kind("recovers", () => ({})),
  /** The answer states a wrong time. The exchange itself uses the right one. */
  "wrong-time": kind("recovers", (random) => ({
    offMs: sign(random) * integer(random, 1, 25) * pick(random, [secondMs, hourMs]),
  })),
  /** The exchange's clock is wrong while it handles the request. */
  "clock-jump": kind("stops", (random) => ({
    offMs: sign(random) * integer(random, 1, 25) * pick(random, [secondMs, minuteMs]),
  })),
  /** History begins later than 90 days ago: older requests are refused. */
  "edge-refuses": kind("recovers", (random) => ({
    laterMs: integer(random, 1, 9) * pick(random, [secondMs, minuteMs]),
  })),
  /** The same, but older bills are left out. */
  "edge-trims": kind("cannot-know", (random) => ({ laterMs: integer(random, 1, 60) * minuteMs })),
  /** From this request on, nothing is served for this much of the exchange's time. */
  maintenance: kind("stops", (random) => ({
    forMs: integer(random, 1, 10) * minuteMs,
    says: pick(random, ["40200", "503"] as const),
  })),
};

export type FaultKind = keyof typeof faultKinds;

/** One thing that a faulty exchange does to a request. Plain data. */
export type Fault = {
  readonly [Kind in FaultKind]: { readonly kind: Kind } & Readonly<
    ReturnType<(typeof faultKinds)[Kind]["draw"]>
  >;
}[FaultKind];

/** A fault and the requests that it affects. */
export type ScheduledFault = Fault & {
  /** The first affected request, as a count of bill requests so far, from 1. */
  readonly atRequest: number;
  /** How many requests in a row it affects. Default 1. */
  readonly times?: number;
  /** Whether it counts and affects the requests that are not for bills: for identity, balances, tax records. */
  readonly of?: "others";
};

/** The bill request that is being served, by its number, and the faults that affect it. */
export type Meeting = { readonly request: number; readonly faults: readonly ScheduledFault[] };

/** The kinds that no client takes for an answer, whatever it has asked for. */
export const answerlessKinds = [
  "too-many-requests",
  "server-error",
  "refused-for-now",
  "html-with-200",
  "empty-body",
  "cut-json",
  "reset-before-answer",
  "reset-in-body",
  "drip",
  "late-answer",
  "late-request",
  "wrong-time",
] as const satisfies readonly FaultKind[];

/** The kinds from which a client recovers completely, in one run or in several. */
export const survivableKinds = (Object.keys(faultKinds) as FaultKind[]).filter(
  (kind) => faultKinds[kind].expected !== "cannot-know",
);

/**
 * Draws a schedule of faults, ordered by the request at which each begins. Every subset of a
 * schedule is a valid schedule too.
 */
export function drawFaultSchedule(
  random: Random,
  {
    requests,
    count,
    kinds,
  }: {
    /** Each fault begins at one of this many requests. */
    readonly requests: number;
    readonly count: number;
    readonly kinds: readonly FaultKind[];
  },
): readonly ScheduledFault[] {
  return Array.from({ length: count }, (): ScheduledFault => {
    const atRequest = integer(random, 1, requests);
    const kind = pick(random, kinds);
    const fault = { kind, ...faultKinds[kind].draw(random) } as Fault;
    const times = integer(random, 1, 3);
    // A client cannot detect an exchange that repeats the same false end, so this fault occurs
    // once.
    return { ...fault, atRequest, times: kind === "false-end" ? 1 : times };
  }).toSorted((a, b) => a.atRequest - b.atRequest);
}
