import { retentionMs } from "../../src/contract/time.ts";
import type { LedgerBill } from "../../src/sandbox/entry.ts";
import type { Difference } from "../../src/sync/verify.ts";
import { versionOf } from "./committed.ts";
import { isKnowable, lostBills } from "./row-checks.ts";
import type { Verification } from "./run-record.ts";
import type { LedgerTables, Tables } from "./tables.ts";
import type { Repaired, VerifyOutcome } from "./verify-process.ts";
import type { World } from "./world.ts";

/** What a repair wrote, at the moment of the server's commit. */
export function checkRepaired(
  { committed, verdicts, trace, time }: World,
  { name }: Verification,
  repaired: Repaired,
): void {
  trace(`${time.now()} ${name} commits a repair`);
  const wanted = new Set(repaired.rows.bills.map(({ billId }) => billId));
  const others = repaired.written.filter(({ billId }) => !wanted.has(billId));
  verdicts.check("verified", repaired.written.length, [
    ...others.map(({ billId }) => `${name} wrote ${billId}, which it was not served`),
    ...committed
      .addRepaired(repaired)
      .map((billId) => `${name} put an older content of ${billId} in the place of a newer one`),
  ]);
}

/** If a verification came to its end, what it read is stored as it was served. */
export function checkVerified(world: World, verification: Verification, after: Tables): void {
  const { ledger, verdicts, committed } = world;
  const { name, outcome } = verification;
  if (outcome === undefined) throw new Error(`${name} did not end`);
  if (!isWhole(outcome)) return;
  const { certainly } = readBy(world, verification);
  for (const productType of verification.productTypes) {
    const told = toldOf(outcome, productType).filter(
      (difference) => "isRepaired" in difference && !difference.isRepaired,
    );
    const isTold = ({ billId }: LedgerBill) =>
      told.some((difference) => difference.billId === billId);
    const bills = ledger
      .bills(productType)
      .filter((bill) => certainly(bill) && !isTold(bill) && isKnowable(world, productType, bill));
    const missing = lostBills(bills, after[productType]);
    const { versions } = committed.of(productType);
    const old = bills.filter(
      (bill) => isRestated(bill, verification.beganAt) && versions.get(bill.billId) === "original",
    );
    verdicts.check("verified", bills.length, [
      ...missing.map(({ billId }) => `${name}: ${productType} ${billId} is still not stored`),
      ...old.map(({ billId }) => `${name}: ${productType} ${billId} is stored as it once was`),
    ]);
  }
}

/** If nothing else runs and there are no faults, it names exactly what differed before. */
export function checkFindings(world: World, verification: Verification, before: Tables): void {
  const { ledger, verdicts } = world;
  const { name, outcome, beganAt, endedAt } = verification;
  if (outcome === undefined || !isWhole(outcome)) {
    verdicts.check("verified", 1, [`${name} did not come to its end: ${whyNot(outcome)}`]);
    return;
  }
  const { certainly, perhaps } = readBy(world, verification);
  for (const productType of verification.productTypes) {
    const bills = ledger.bills(productType);
    const stored = before[productType];
    const told = toldOf(outcome, productType);
    const differing = (
      kind: Difference["kind"],
      differs: (bill: LedgerBill, at: number) => boolean,
    ) =>
      misnamed(
        kind,
        told,
        bills.filter((bill) => certainly(bill) && differs(bill, beganAt)),
        bills.filter((bill) => perhaps(bill) && differs(bill, endedAt)),
      );
    const rejected = told.filter(({ kind }) => kind === "rejected").length;
    const [least, most] = [certainly, perhaps].map((isRead) => brokenRows(bills.filter(isRead)));
    const wrong = [
      ...differing("missing", (bill) => bill.broken === undefined && !isStored(stored, bill)),
      ...differing("changed", (bill, at) => isRestated(bill, at) && isOriginal(stored, bill)),
      ...told
        .filter((difference) => "isRepaired" in difference && !difference.isRepaired)
        .map(({ billId }) => `${billId} differs and was not repaired`),
      ...told.flatMap(({ kind, billId }) =>
        kind === "unserved" ? [`${billId} is called unserved`] : [],
      ),
      ...(rejected >= (least ?? 0) && rejected <= (most ?? 0)
        ? []
        : [`${rejected} rows are called broken, not ${least} to ${most}`]),
    ];
    verdicts.check(
      "verified",
      bills.length,
      wrong.map((what) => `${name}: ${productType} ${what}`),
    );
  }
}

const isWhole = (outcome: VerifyOutcome | "killed"): outcome is VerifyOutcome =>
  outcome !== "killed" &&
  outcome.error === undefined &&
  outcome.ledgers.every(({ error }) => error === undefined);

const whyNot = (outcome: VerifyOutcome | "killed" | undefined): string =>
  typeof outcome === "object"
    ? [outcome.error, ...outcome.ledgers.map(({ error }) => error)].join(" ")
    : String(outcome);

const toldOf = ({ differences }: VerifyOutcome, productType: string): readonly Difference[] =>
  differences.filter(({ ledger }) => ledger.productType === productType);

/** Which bills a verification must have been served, and which it may have been served. */
function readBy({ tolerance }: World, { span, beganAt, endedAt }: Verification) {
  const { aheadMs, behindMs, edgeMs } = tolerance;
  const from = Math.max(span.from, endedAt - retentionMs + edgeMs);
  return {
    certainly: ({ cTime, visibleAt }: LedgerBill) =>
      cTime >= from && cTime < span.to - behindMs && visibleAt <= beganAt - aheadMs,
    // A row that breaks the contract may have no time of its own, so it counts at the edges, too.
    perhaps: ({ cTime, visibleAt, broken }: LedgerBill) => {
      const marginMs = broken === undefined ? 0 : 1;
      const isInside = cTime >= span.from - marginMs && cTime < span.to + marginMs;
      return isInside && visibleAt <= endedAt + aheadMs;
    },
  };
}

const isRestated = ({ restated }: LedgerBill, at: number): boolean =>
  restated !== undefined && restated.at <= at;

const isStored = ({ bills }: LedgerTables, { billId }: LedgerBill): boolean =>
  bills.some((bill) => bill.billId === billId);

const isOriginal = ({ bills }: LedgerTables, { billId }: LedgerBill): boolean =>
  bills.some((bill) => bill.billId === billId && versionOf(bill) === "original");

/** Equal ones count once. */
const brokenRows = (bills: readonly LedgerBill[]): number =>
  new Set(bills.filter(({ broken }) => broken !== undefined).map(({ row }) => JSON.stringify(row)))
    .size;

/** Findings of a kind that should not be there, and bills that should be among them. */
function misnamed(
  kind: Difference["kind"],
  told: readonly Difference[],
  least: readonly LedgerBill[],
  most: readonly LedgerBill[],
): readonly string[] {
  const named = new Set(
    told.filter((difference) => difference.kind === kind).map(({ billId }) => billId),
  );
  const allowed = new Set(most.map(({ billId }) => billId));
  return [
    ...least
      .filter(({ billId }) => !named.has(billId))
      .map(({ billId }) => `${billId} is not called ${kind}`),
    ...[...named]
      .filter((billId) => billId === undefined || !allowed.has(billId))
      .map((billId) => `${billId} is called ${kind}`),
  ];
}
