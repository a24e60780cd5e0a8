import { parse } from "csv-parse/sync";
import { isUnified, type ProductType, walletOf } from "../../src/contract/product-types.ts";
import type { LedgerBill } from "../../src/sandbox/ledger-bill.ts";
import type { SandboxAccount } from "../../src/sandbox/sandbox.ts";
import { exactUnits } from "./journal.ts";

// Compares exported bills with an exchange's own ledger, by the rows as it serves them.

export type ExportedRow = {
  readonly account: string;
  readonly product_type: ProductType;
  readonly bill_id: string;
  readonly c_time: string;
  readonly coin: string;
  readonly business_type: string;
  readonly amount: string;
  readonly fee: string;
  readonly balance: string;
};

export const csvRows = (text: string): readonly ExportedRow[] => parse(text, { columns: true });

/** The fields as they are sent, by the names of either API. */
type Wire = Readonly<Partial<Record<string, string>>>;

const wireOf = ({ row }: LedgerBill): Wire => row as Wire;

const figure = (text: string | undefined): bigint | undefined =>
  text === undefined || text === "" ? undefined : exactUnits(text);

const figuresOf = (row: Wire) => [
  row["coin"],
  row["businessType"] ?? row["business_type"] ?? row["type"],
  ...[row["amount"], row["fee"], row["balance"]].map(figure),
];

/** Rows that differ from the ledger's, or that the ledger does not have. */
export function wrongRows(
  { ledger }: SandboxAccount,
  rows: readonly ExportedRow[],
): readonly ExportedRow[] {
  const known = new Map(
    Object.entries(ledger.bills).flatMap(([productType, bills]) =>
      bills.map((bill) => [`${productType}/${bill.billId}`, bill] as const),
    ),
  );
  return rows.filter((row) => {
    const bill = known.get(`${row.product_type}/${row.bill_id}`);
    const isSame =
      bill !== undefined &&
      Date.parse(row.c_time) === bill.cTime &&
      figuresOf(row).every((value, index) => value === figuresOf(wireOf(bill))[index]);
    return !isSame;
  });
}

/** A ledger's bills of a time that were served by another, by product type and id. */
export const idsIn = (
  { ledger }: SandboxAccount,
  productTypes: readonly ProductType[],
  { from, to, servedBy }: Readonly<Record<"from" | "to" | "servedBy", number>>,
): readonly string[] =>
  productTypes
    .flatMap((productType) =>
      ledger.bills[productType]
        .filter(({ cTime, visibleAt }) => cTime >= from && cTime < to && visibleAt <= servedBy)
        .map(({ billId }) => `${productType}/${billId}`),
    )
    .toSorted();

/**
 * The balance that the last of these bills shows, of each wallet and coin where it shows one, in units
 * of a journal. A unified account's ids are in the order of booking over all its categories, a
 * classic ledger is listed in that order.
 */
export function lastBalances(
  { ledger }: SandboxAccount,
  rows: readonly ExportedRow[],
): ReadonlyMap<string, bigint> {
  const exported = new Set(rows.map((row) => `${row.product_type}/${row.bill_id}`));
  const last = new Map<string, LedgerBill>();
  for (const [type, bills] of Object.entries(ledger.bills)) {
    const productType = type as ProductType;
    for (const bill of bills) {
      if (!exported.has(`${type}/${bill.billId}`)) continue;
      const key = `${walletOf(productType)} ${bill.coin}`;
      const before = last.get(key);
      const isLater =
        before === undefined ||
        !isUnified(productType) ||
        BigInt(bill.billId) > BigInt(before.billId);
      if (isLater) last.set(key, bill);
    }
  }
  return new Map(
    [...last].flatMap(([key, bill]) => {
      const balance = figure(wireOf(bill)["balance"]);
      return balance === undefined ? [] : [[key, balance]];
    }),
  );
}
