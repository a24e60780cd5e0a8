import type { ProductType } from "../../src/core/contract/product-types.ts";
import type { Interval } from "../../src/core/words/intervals.ts";
import type { Ledger, LedgerPlan } from "../../src/core/words/ledger.ts";
import type { PageCommit, ReadRows } from "../../src/core/words/page.ts";
import type { EpochMs } from "../../src/lib/time.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import { restatedMark, type SimulatedLedger } from "./ledger.ts";

/** With which of its two contents a bill was served. */
type Version = "original" | "restated";

/** Time that a run calls complete, and when it began to read it, by the run's own clock. */
type Proof = { readonly proven: Interval; readonly startedAt: EpochMs };

/** All that the server has committed of a ledger, as the sync passed it on. */
export type CommittedLedger = ReturnType<typeof nothingCommitted>;

const nothingCommitted = () => ({
  versions: new Map<string, Version>(),
  /** The contents that were replaced, oldest first. */
  replaced: new Map<string, Version[]>(),
  /** Rejected rows, as JSON. */
  rejected: new Set<string>(),
  proofs: [] as Proof[],
  /** The oldest time that any plan wanted. */
  wantedFrom: Number.POSITIVE_INFINITY,
  /** Bills that a commit of the run added or changed. */
  touched: new Set<string>(),
  /** Bills that are in no ledger. */
  invented: [] as string[],
});

/** Distinguishes two contents of a bill. */
export type WrittenBill = {
  readonly productType: ProductType;
  readonly billId: string;
  readonly symbol: string | null;
};

export type Write =
  | { readonly kind: "page"; readonly page: PageCommit }
  | { readonly kind: "plans"; readonly plans: readonly LedgerPlan[] }
  | { readonly kind: "key" | "else" };

/** Records what is committed, for each ledger. */
export function committedLedgers(ledger: SimulatedLedger) {
  const ledgers = new Map<ProductType, CommittedLedger>();
  const ledgerOf = (productType: ProductType): CommittedLedger => {
    const known = ledgers.get(productType);
    if (known !== undefined) return known;
    const made = nothingCommitted();
    ledgers.set(productType, made);
    return made;
  };
  return {
    of: ledgerOf,
    forgetTouched(): void {
      for (const { touched } of ledgers.values()) touched.clear();
    },
    forgetPlans(): void {
      for (const ledger of ledgers.values()) {
        ledger.proofs.splice(0);
        ledger.wantedFrom = Number.POSITIVE_INFINITY;
      }
    },
    addPlan({ ledger, windows, lost }: LedgerPlan): void {
      const committed = ledgerOf(ledger.productType);
      const all = [...windows.map(({ window }) => window), ...lost];
      committed.wantedFrom = Math.min(committed.wantedFrom, ...all.map(({ from }) => from));
    },
    /** @returns the bills whose newer content was replaced by an older one. */
    add({
      ledger: { productType },
      bills,
      rejected,
      next,
      startedAt,
    }: PageCommit): readonly string[] {
      const committed = ledgerOf(productType);
      const older = bills.flatMap((bill) => {
        const { billId } = bill;
        if (ledger.bill(productType, billId) === undefined) committed.invented.push(billId);
        return store(committed, billId, versionOf(bill)) ? [billId] : [];
      });
      for (const { received } of rejected) committed.rejected.add(JSON.stringify(received));
      if ("end" in next) {
        for (const proven of next.end.proven) committed.proofs.push({ proven, startedAt });
      }
      return older;
    },
    /** @returns the bills whose newer content was replaced by an older one. */
    addRepaired(
      written: readonly WrittenBill[],
      rows?: ReadRows & { readonly ledger: Ledger },
    ): readonly string[] {
      for (const { received } of rows?.rejected ?? [])
        ledgerOf(rows?.ledger.productType as ProductType).rejected.add(JSON.stringify(received));
      return written.flatMap((bill) => {
        return store(ledgerOf(bill.productType), bill.billId, versionOf(bill)) ? [bill.billId] : [];
      });
    },
  };
}

export const versionOf = ({ symbol }: Pick<WrittenBill, "symbol">): Version =>
  symbol === restatedMark.symbol ? "restated" : "original";

/** @returns whether this content is older than the one that it replaces. */
function store(
  { versions, replaced, touched }: CommittedLedger,
  id: string,
  next: Version,
): boolean {
  const before = versions.get(id);
  if (before === next) return false;
  touched.add(id);
  versions.set(id, next);
  if (before !== undefined) replaced.set(id, [...(replaced.get(id) ?? []), before]);
  return before === "restated";
}

/** The bill as it was served with this content. */
export function billAs(bill: LedgerBill, version: Version): LedgerBill {
  const { restated, ...original } = bill;
  return version === "restated" && restated !== undefined
    ? { ...original, row: restated.row }
    : original;
}
