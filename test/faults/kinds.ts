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

/** One thing that a faulty exchange does to a request. Plain data; times in ms. */
export type Fault =
  /** 429, with or without Retry-After. */
  | { readonly kind: "too-many-requests"; readonly retryAfterSeconds?: number }
  /** A gateway's HTML page. */
  | { readonly kind: "server-error"; readonly status: 500 | 502 | 503 | 504 }
  | { readonly kind: "refused-for-now"; readonly code: LaterCode; readonly status: 200 | 400 }
  | { readonly kind: "html-with-200" }
  /** A success with an empty body. */
  | { readonly kind: "empty-body" }
  /** A complete HTTP answer whose JSON is cut at this share of its bytes, 0 to 1. */
  | { readonly kind: "cut-json"; readonly share: number }
  /** A success code whose data is missing, null or an empty object. */
  | { readonly kind: "no-data"; readonly data: "missing" | "null" | "empty" }
  | { readonly kind: "reset-before-answer" }
  /** The connection breaks at this share of the body's bytes, 0 to 1. */
  | { readonly kind: "reset-in-body"; readonly share: number }
  /** The first `bytes` bytes come one by one, the rest at once. Default all. */
  | { readonly kind: "drip"; readonly dripMs: number; readonly bytes?: number }
  /** The request is counted at once; the answer is delayed. */
  | { readonly kind: "late-answer"; readonly holdMs: number }
  /** The request is delayed on its way, and counted when it arrives. */
  | { readonly kind: "late-request"; readonly holdMs: number }
  /** Repeats the previous page, with its endId. */
  | { readonly kind: "page-again" }
  | { readonly kind: "rows-reordered"; readonly order: "reversed" | "rotated" }
  /** A page of bills that are this much older, as if it answered another request. */
  | { readonly kind: "page-of-another-time"; readonly olderMs: number }
  /** The page after the right one: the bills between are never served. */
  | { readonly kind: "page-skipped" }
  /**
   * An endId that equals the cursor of the request, or the cursor of this many pages before, or no
   * bill's id.
   */
  | { readonly kind: "end-id-repeats" }
  | { readonly kind: "end-id-cycles"; readonly pagesBack: number }
  | { readonly kind: "end-id-foreign" }
  /** The endId is the page's newest bill. */
  | { readonly kind: "end-id-newest" }
  /** No endId, as if no bill followed the page. */
  | { readonly kind: "end-id-null" }
  /** An empty page instead of one with bills, as if no bill were left. */
  | { readonly kind: "false-end" }
  /** The answer states a wrong time. The exchange itself uses the right one. */
  | { readonly kind: "wrong-time"; readonly offMs: number }
  /** The exchange's clock is wrong while it handles the request. */
  | { readonly kind: "clock-jump"; readonly offMs: number }
  /** History begins later than 90 days ago: older requests are refused, or older bills left out. */
  | { readonly kind: "edge-refuses"; readonly laterMs: number }
  | { readonly kind: "edge-trims"; readonly laterMs: number }
  /** From this request on, nothing is served for this much of the exchange's time. */
  | { readonly kind: "maintenance"; readonly forMs: number; readonly says: "40200" | "503" };

export type FaultKind = Fault["kind"];

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

/**
 * What a correct client does about a temporary fault. `recovers`: it retries within the run, or the
 * rows are right anyway. `stops`: it may stop a window or the product type with an error that names
 * it, so that a later run reads it anew. `cannot-know`: the contract allows the answer.
 */
export type Expectation = "recovers" | "stops" | "cannot-know";

export const expectations = {
  "too-many-requests": "recovers",
  "server-error": "recovers",
  "refused-for-now": "recovers",
  "html-with-200": "recovers",
  "empty-body": "recovers",
  "cut-json": "recovers",
  "no-data": "recovers",
  "reset-before-answer": "recovers",
  "reset-in-body": "recovers",
  drip: "recovers",
  "late-answer": "recovers",
  "late-request": "recovers",
  "page-again": "recovers",
  "rows-reordered": "recovers",
  "page-of-another-time": "stops",
  "page-skipped": "cannot-know",
  "end-id-repeats": "recovers",
  "end-id-cycles": "recovers",
  "end-id-foreign": "recovers",
  "end-id-newest": "recovers",
  "end-id-null": "recovers",
  "false-end": "recovers",
  "wrong-time": "recovers",
  "clock-jump": "stops",
  "edge-refuses": "recovers",
  "edge-trims": "cannot-know",
  maintenance: "stops",
} as const satisfies Record<FaultKind, Expectation>;

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
export const survivableKinds = (Object.keys(expectations) as FaultKind[]).filter(
  (kind) => expectations[kind] !== "cannot-know",
);
