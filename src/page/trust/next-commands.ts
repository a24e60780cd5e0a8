import { shellWord } from "../../printable.ts";
import { behindMaxMs, type Trust } from "./headline.ts";

// More commands are not typed at a look. After these, the page names the next ones.
const pausedMax = 2;
const breaksMax = 10;

/** What decides it. */
type Undone = Pick<
  Trust,
  | "ledgers"
  | "demoLedgers"
  | "isSyncAtWork"
  | "paused"
  | "readableMs"
  | "neverRead"
  | "behindMs"
  | "rejectedRows"
  | "isReconciled"
  | "repairableBreaks"
  | "lastingBreaks"
>;

/**
 * What to type, in this order, until everything that can be read is read and adds up. Empty if no
 * command would change anything, and while a sync is at work: what it leaves to do is not known yet.
 */
export function nextCommands(trust: Undone): readonly string[] {
  const { paused, readableMs, neverRead, behindMs, rejectedRows, isReconciled } = trust;
  if (trust.ledgers === 0) return trust.demoLedgers === 0 ? ["npm run sync"] : [];
  if (trust.isSyncAtWork) return [];
  const isToRead = readableMs > 0 || neverRead > 0 || behindMs > behindMaxMs;
  const reads = [
    ...paused
      .slice(0, pausedMax)
      .map((account) => `npm run accounts -- resume ${shellWord(account)}`),
    ...(isToRead || rejectedRows > 0 ? ["npm run sync"] : []),
  ];
  // What is read is reconciled next. A sign-off comes last: a check may resolve the break.
  if (trust.repairableBreaks > 0) return [...reads, "npm run reconcile -- --repair"];
  if (reads.length > 0 || !isReconciled) return [...reads, "npm run reconcile"];
  return signOff(trust.lastingBreaks);
}

const signOff = (breakIds: readonly number[]): readonly string[] =>
  breakIds.length === 0
    ? []
    : [`npm run breaks -- accept ${breakIds.slice(0, breaksMax).join(",")} --note "why"`];
