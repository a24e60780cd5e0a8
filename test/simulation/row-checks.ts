import type { ProductType } from "../../src/core/contract/product-types.ts";
import { beginsAnew } from "../../src/core/words/page.ts";
import { epochMs, retentionMs } from "../../src/lib/time.ts";
import { compareWithLedger } from "../../src/wings/sandbox/comparison.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import { billAs, type CommittedLedger } from "./committed.ts";
import type { LedgerTables, Span } from "./tables.ts";
import { covers, type Tolerance } from "./time-checks.ts";
import type { World } from "./world.ts";

type FindBill = (billId: string) => LedgerBill | undefined;

const always = { from: epochMs(0), visibleAt: epochMs(Number.MAX_SAFE_INTEGER) };

/**
 * Compares the table with what was committed, character for character: `wrong` contents, and rows
 * that differ.
 */
export function rowFaults({ bills }: LedgerTables, committed: CommittedLedger, find: FindBill) {
  const expected = [...committed.versions].flatMap(([billId, version]) => {
    const bill = find(billId);
    return bill === undefined ? [] : [billAs(bill, version)];
  });
  const ofPages = bills.filter(({ source }) => source === null);
  const { missing, different } = compareWithLedger(expected, ofPages, always);
  return {
    missing: missing.map((id) => `${id} was committed and is not stored`),
    different,
    uncommitted: ofPages
      .filter(({ billId }) => !committed.versions.has(billId))
      .map(({ billId }) => `${billId} is stored, and no page with it was committed`),
  };
}

/** The replaced contents, in their order, character for character. */
export function revisionFaults(
  { revisions }: LedgerTables,
  { replaced }: CommittedLedger,
  find: FindBill,
): readonly string[] {
  const ofPages = revisions.filter(({ source }) => source === null);
  const stored = Map.groupBy(ofPages, ({ billId }) => billId);
  return [...new Set([...stored.keys(), ...replaced.keys()])].flatMap((billId) => {
    const kept = stored.get(billId) ?? [];
    const versions = replaced.get(billId) ?? [];
    const bill = find(billId);
    if (bill === undefined || kept.length !== versions.length)
      return [`${billId} has ${kept.length} revisions, ${versions.length} were replaced`];
    return versions.flatMap(
      (version, index) =>
        compareWithLedger([billAs(bill, version)], kept.slice(index, index + 1), always).different,
    );
  });
}

const isKept = (
  { billId, row }: LedgerBill,
  stored: ReadonlySet<string>,
  rejected: ReadonlySet<string>,
): boolean => stored.has(billId) || rejected.has(JSON.stringify(row));

/** The bills of a ledger that are in no table. */
export function lostBills(
  bills: readonly LedgerBill[],
  tables: LedgerTables,
): readonly LedgerBill[] {
  const stored = new Set(tables.bills.map(({ billId }) => billId));
  const rejected = new Set(tables.rejected);
  return bills.filter((bill) => !isKept(bill, stored, rejected));
}

/**
 * Whether a bill must be stored because its time is called complete: it appeared within the settle
 * lag, or before the walk began that proved its time.
 */
export function isClaimed(
  { proofs }: CommittedLedger,
  spans: readonly Span[],
  settleLagMs: number,
  { aheadMs }: Tolerance,
): (bill: LedgerBill) => boolean {
  const covered = spans.filter(({ state }) => state === "covered");
  return ({ cTime, visibleAt }) =>
    covers(covered, cTime) &&
    (visibleAt - cTime <= settleLagMs - aheadMs ||
      proofs.some(
        ({ proven, startedAt }) => covers([proven], cTime) && visibleAt <= startedAt - aheadMs,
      ));
}

/** Whether a bill must be stored because a cursor has passed it. */
export function isBehindCursor(
  spans: readonly Span[],
  now: number,
  { aheadMs, edgeMs }: Tolerance,
): (bill: LedgerBill) => boolean {
  const horizon = now - retentionMs + edgeMs;
  const begun = spans.flatMap(({ state, from, to, cursor, startedAt }) =>
    state === "open" && cursor !== null && !beginsAnew(cursor) && startedAt !== undefined
      ? [{ from: Math.max(from, horizon), to, cursor: BigInt(cursor), startedAt }]
      : [],
  );
  return ({ billId, cTime, visibleAt }) =>
    begun.some(
      ({ from, to, cursor, startedAt }) =>
        cTime >= from && cTime < to && BigInt(billId) >= cursor && visibleAt <= startedAt - aheadMs,
    );
}

/** Rows that were rewritten although nothing in them changed. */
export const rewritten = (
  before: LedgerTables,
  after: LedgerTables,
  touched: ReadonlySet<string>,
): readonly string[] => {
  const versions = new Map(before.bills.map(({ billId, version }) => [billId, version]));
  return after.bills
    .filter(({ billId, version }) => {
      const old = versions.get(billId);
      return old !== undefined && old !== version && !touched.has(billId);
    })
    .map(({ billId }) => `${billId} was rewritten unchanged`);
};

/**
 * Of pages that begin with the oldest bills, nobody can know what none has shown; nor of pages that are filtered after
 * they were cut, if ids do not follow times (the id that an empty page names lies below bills that come after it), or if
 * the next answer is a false end.
 */
export function isKnowable(
  { history, shown }: World,
  productType: ProductType,
  { billId }: LedgerBill,
): boolean {
  const { ledger, steps, healing } = history;
  // What is left out of a page or of an answer that lags, balances alone show.
  if (healing !== undefined) return false;
  const isFalse = steps.some((step) => step.exchange.some(({ kind }) => kind === "false-end"));
  if (isFiltered(history) && (isFalse || ledger.idJitterMs > 0)) return false;
  return !isOldestFirst(history) || shown.has(`${productType} ${billId}`);
}

export const isOldestFirst = ({ exchange }: World["history"]): boolean =>
  exchange.quirks.paging?.kind === "oldest-first";

export const isFiltered = ({ exchange }: World["history"]): boolean =>
  exchange.quirks.paging?.kind === "filtered";
