import { hourMs } from "../../contract/time.ts";

/** What decides how far the stored ledgers can be trusted. Demo trading has no influence. */
export type Trust = {
  /** The number of stored ledgers of real money. */
  readonly ledgers: number;
  /** The number of stored ledgers of demo trading. */
  readonly demoLedgers: number;
  readonly isSyncAtWork: boolean;
  /** Undefined if reconcile never ran. */
  readonly openBreaks: number | undefined;
  /** The open breaks of which something does not add up, and that no unread time explains. */
  readonly badBreaks: number;
  /** Those of them that lie beside lost time, which explains them. */
  readonly lostBreaks: number;
  /** The open breaks that only say that bills were restated. */
  readonly restatements: number;
  /** The breaks that are signed off and of which something still does not add up. */
  readonly signedOffBreaks: number;
  /** The open breaks whose bills the exchange still serves, so that they can be read again. */
  readonly repairableBreaks: number;
  /** The numbers of the open breaks that only a sign-off closes. */
  readonly lastingBreaks: readonly number[];
  /** Time that the exchange deleted before it was read, in ms. */
  readonly lostMs: number;
  /** Time that runs set out to read and did not, in ms. Lost time is not included. */
  readonly missingMs: number;
  /** The missing time that a sync can still read, in ms. */
  readonly readableMs: number;
  /** The number of product types that no run has begun to read. */
  readonly neverRead: number;
  /** How long the ledger that is furthest behind has not been read, in ms. */
  readonly behindMs: number;
  /** The paused accounts with time that a sync would read. */
  readonly paused: readonly string[];
  readonly rejectedRows: number;
  /** The open breaks whose cause is gone since the last check. */
  readonly outdatedBreaks: number;
  /** Whether reconcile has checked everything that is stored. */
  readonly isReconciled: boolean;
};

export type Tone = "none" | "work" | "bad" | "warn" | "good";

export const headlines = {
  nothing: { tone: "none", title: "Nothing is stored yet" },
  "demo only": { tone: "none", title: "Only demo trading is stored" },
  "at work": { tone: "work", title: "Reading the exchange" },
  breaks: { tone: "bad", title: "It does not add up" },
  lost: { tone: "bad", title: "Some history is lost" },
  missing: { tone: "warn", title: "Not complete" },
  behind: { tone: "warn", title: "Out of date" },
  rejected: { tone: "warn", title: "Some rows could not be read" },
  restated: { tone: "warn", title: "Stored bills were changed: look at them" },
  unreconciled: { tone: "warn", title: "Complete, not yet reconciled" },
  "signed off": { tone: "good", title: "Complete, and what does not add up is signed off" },
  good: { tone: "good", title: "Complete, and it adds up" },
} as const satisfies Readonly<Record<string, { readonly tone: Tone; readonly title: string }>>;

export type Headline = keyof typeof headlines;

/** A daily sync may take two hours longer than usual. */
export const behindMaxMs = 26 * hourMs;

/** Whether the last check saw all that is stored, and what is stored is of today. */
export const isUpToDate = ({ isReconciled, behindMs }: Pick<Trust, "isReconciled" | "behindMs">) =>
  isReconciled && behindMs <= behindMaxMs;

/** The first headline that applies, from worst to best. A worse one hides the others. */
export function headlineOf(trust: Trust): Headline {
  if (trust.ledgers === 0) return trust.demoLedgers === 0 ? "nothing" : "demo only";
  if (trust.badBreaks > trust.lostBreaks) return "breaks";
  if (trust.isSyncAtWork) return "at work";
  if (trust.lostMs > 0) return "lost";
  if (trust.missingMs > 0 || trust.neverRead > 0) return "missing";
  if (trust.behindMs > behindMaxMs) return "behind";
  if (trust.rejectedRows > 0) return "rejected";
  if (trust.restatements > 0) return "restated";
  // Another check closes the breaks that are still open here.
  if (!trust.isReconciled || trust.openBreaks !== 0) return "unreconciled";
  return trust.signedOffBreaks > 0 ? "signed off" : "good";
}
