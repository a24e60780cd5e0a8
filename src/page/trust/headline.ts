import { hourMs } from "../../contract/time.ts";

/** What decides how far the stored ledgers can be trusted. Demo trading is not part of it. */
export type Trust = {
  /** Ledgers of money that are stored. */
  readonly ledgers: number;
  /** The same of demo trading. */
  readonly demoLedgers: number;
  readonly isSyncAtWork: boolean;
  /** Undefined where no reconcile ever ran. */
  readonly openBreaks: number | undefined;
  /** Those of them that lie beside time that was not read, which is what is wrong there. */
  readonly unreadBreaks: number;
  /** Time that was not read before the exchange deleted it, in ms. */
  readonly lostMs: number;
  /** Time that runs set out to read and did not, and that is not lost, in ms. */
  readonly missingMs: number;
  /** Product types that were never read, of wallets of which others were. */
  readonly neverRead: number;
  /** How long ago the newest time lies that was read of the ledger that is furthest behind, in ms. */
  readonly behindMs: number;
  readonly rejectedRows: number;
  /** Whether a reconcile has looked at everything that is stored. */
  readonly isReconciled: boolean;
};

export type Tone = "none" | "work" | "bad" | "warn" | "good";

export const verdicts = {
  nothing: { tone: "none", title: "Nothing is stored yet" },
  "demo only": { tone: "none", title: "Only demo trading is stored" },
  "at work": { tone: "work", title: "Reading the exchange" },
  breaks: { tone: "bad", title: "It does not add up" },
  lost: { tone: "bad", title: "Some history is lost" },
  missing: { tone: "warn", title: "Not complete" },
  behind: { tone: "warn", title: "Out of date" },
  rejected: { tone: "warn", title: "Some rows could not be read" },
  unreconciled: { tone: "warn", title: "Complete, not yet reconciled" },
  good: { tone: "good", title: "Complete, and it adds up" },
} as const satisfies Readonly<Record<string, { readonly tone: Tone; readonly title: string }>>;

export type Verdict = keyof typeof verdicts;

/** A sync that runs once a day, and once took two hours longer, is in time. */
export const behindMaxMs = 26 * hourMs;

/** The first of these that holds: what is worse hides what is less bad. */
export function verdictOf(trust: Trust): Verdict {
  if (trust.ledgers === 0) return trust.demoLedgers === 0 ? "nothing" : "demo only";
  if (trust.isSyncAtWork) return "at work";
  const { openBreaks = 0, unreadBreaks } = trust;
  if (openBreaks > unreadBreaks) return "breaks";
  if (trust.lostMs > 0) return "lost";
  if (trust.missingMs > 0 || trust.neverRead > 0) return "missing";
  // Without a hole that would be its reason.
  if (openBreaks > 0) return "breaks";
  if (trust.behindMs > behindMaxMs) return "behind";
  if (trust.rejectedRows > 0) return "rejected";
  return trust.isReconciled && trust.openBreaks === 0 ? "good" : "unreconciled";
}
