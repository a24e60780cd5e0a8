/** Refusals that mean "later": each may come with HTTP 200 as well as with 400. */
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
  /** 429, with a Retry-After or without. */
  | { readonly kind: "too-many-requests"; readonly retryAfterSeconds?: number }
  /** A gateway's page of HTML. */
  | { readonly kind: "server-error"; readonly status: 500 | 502 | 503 | 504 }
  | { readonly kind: "refused-for-now"; readonly code: LaterCode; readonly status: 200 | 400 }
  | { readonly kind: "html-with-200" }
  /** A success without a byte of body. */
  | { readonly kind: "empty-body" }
  /** A whole HTTP answer whose JSON ends at this share of its bytes, 0 to 1. */
  | { readonly kind: "cut-json"; readonly share: number }
  /** The code of a success, and no data, null, or an object with nothing in it. */
  | { readonly kind: "no-data"; readonly data: "missing" | "null" | "empty" }
  | { readonly kind: "reset-before-answer" }
  /** The connection breaks at this share of the body's bytes, 0 to 1. */
  | { readonly kind: "reset-in-body"; readonly share: number }
  /** So many bytes come one by one, the rest at once. Default all. */
  | { readonly kind: "drip"; readonly dripMs: number; readonly bytes?: number }
  /** The request is taken at once, the answer is held up. */
  | { readonly kind: "late-answer"; readonly holdMs: number }
  /** The request is held up on its way, and taken when it arrives. */
  | { readonly kind: "late-request"; readonly holdMs: number }
  /** The page before this one once more, with its endId. */
  | { readonly kind: "page-again" }
  | { readonly kind: "rows-reordered"; readonly order: "reversed" | "rotated" }
  /** A page of the bills so much older, as if another request's answer were given. */
  | { readonly kind: "page-of-another-time"; readonly olderMs: number }
  /** The page after this one: what lies between is never served. */
  | { readonly kind: "page-skipped" }
  /** An endId that is the cursor asked with, the cursor of so many pages before, or no bill's. */
  | { readonly kind: "end-id-repeats" }
  | { readonly kind: "end-id-cycles"; readonly pagesBack: number }
  | { readonly kind: "end-id-foreign" }
  /** An endId that is the page's newest bill. */
  | { readonly kind: "end-id-newest" }
  /** No endId, as if nothing lay behind the page. */
  | { readonly kind: "end-id-null" }
  /** An empty page in the place of one with bills, as if nothing were left. */
  | { readonly kind: "false-end" }
  /** The answer says a wrong time; the exchange itself goes by the right one. */
  | { readonly kind: "wrong-time"; readonly offMs: number }
  /** The exchange's clock is off while it takes the request. */
  | { readonly kind: "clock-jump"; readonly offMs: number }
  /** History begins later than 90 days ago: refused where more is asked for, or left out. */
  | { readonly kind: "edge-refuses"; readonly laterMs: number }
  | { readonly kind: "edge-trims"; readonly laterMs: number }
  /** From the request on, for this much of the exchange's time, nothing is served at all. */
  | { readonly kind: "maintenance"; readonly forMs: number; readonly says: "40200" | "503" };

export type FaultKind = Fault["kind"];

/** A fault and the requests that it meets. */
export type ScheduledFault = Fault & {
  /** The first of them: how many requests for bills have arrived with it, from 1. */
  readonly atRequest: number;
  /** How many in a row. Default 1. */
  readonly times?: number;
};

/** The request for bills that is being served, by its number, and the faults that it meets. */
export type Meeting = { readonly request: number; readonly faults: readonly ScheduledFault[] };

/**
 * What a right client makes of it, where it does not last: `recovers` within the run, by
 * asking again or because nothing is wrong with the rows; may `stop` a window, or the product
 * type, with an error that names it, so that a later run reads it anew; or cannot know, since
 * the answer is one that the contract allows.
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

/** Those that a client can come through whole, in one run or in several. */
export const survivableKinds = (Object.keys(expectations) as FaultKind[]).filter(
  (kind) => expectations[kind] !== "cannot-know",
);
