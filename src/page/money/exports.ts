import { unifiedProductTypes, unifiedWallet } from "../../contract/product-types.ts";
import { dayMs, type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { readClosings } from "../../export/closings.ts";
import { readExportedTimes } from "../../export/completeness.ts";
import type { Chunks } from "../../export/exported-bill.ts";
import { isJournal, loadFormat } from "../../export/formats.ts";
import { type BillSelection, readBills } from "../../export/read-bills.ts";
import { readSyncedStreams } from "../../ledger/known-time.ts";
import type { Stream } from "../../sync/store.ts";
import type { PageSelection } from "../selection.ts";
import { offOf } from "./parts.ts";
import { walletDays } from "./wallet-days.ts";

/** The formats that the page offers, under their usual names. */
export const exportNames = {
  csv: "CSV",
  parquet: "Parquet",
  hledger: "hledger",
  beancount: "beancount",
} as const;

export type ExportName = keyof typeof exportNames;

export const isExportName = (name: string | null): name is ExportName =>
  name !== null && Object.hasOwn(exportNames, name);

const types: Readonly<Record<ExportName, { readonly ending: string; readonly type: string }>> = {
  csv: { ending: "csv", type: "text/csv; charset=utf-8; header=present" },
  parquet: { ending: "parquet", type: "application/vnd.apache.parquet" },
  hledger: { ending: "journal", type: "text/plain; charset=utf-8" },
  beancount: { ending: "beancount", type: "text/plain; charset=utf-8" },
};

/** A file of the selected bills. */
export type ExportFile = {
  /** The name says so if the time was not read completely, or if balances do not follow. */
  readonly name: string;
  readonly type: string;
  readonly chunks: Chunks;
};

/**
 * Starts an export inside one transaction. Nothing else may use the transaction until the file's
 * chunks end.
 */
export async function exportFile(
  tx: Transaction,
  selection: PageSelection,
  format: ExportName,
  now: EpochMs,
): Promise<ExportFile> {
  const bills = billsOf(selection);
  const write = await loadFormat(format);
  const closings = isJournal(format) ? await readClosings(tx, bills) : [];
  const { account, product, coin, from, to } = selection;
  const { ending, type } = types[format];
  const off = offOf(await walletDays({ tx, selection, wallets: [], now }));
  const words = [
    ...[account, product, coin, from, "to", to],
    ...(await lackOf(tx, bills, now)),
    ...(off.days > 0 ? ["does-not-add-up"] : []),
  ];
  return {
    name: `${words.map((word) => word.replaceAll(/[^\w.-]/g, "_")).join("-")}.${ending}`,
    type,
    chunks: write(readBills(tx, bills), { closings }),
  };
}

/**
 * Words for the file's name that say which part of the time is not known to be complete. Time in
 * the future is no lack.
 */
async function lackOf(
  tx: Transaction,
  bills: ReturnType<typeof billsOf>,
  now: EpochMs,
): Promise<readonly string[]> {
  const streams = (await readSyncedStreams(tx)).filter((stream) => isSelected(bills, stream));
  const span = { ...bills, to: epochMs(Math.min(now, bills.to)) };
  const times = await readExportedTimes(tx, streams, span, now);
  const throughs = times.map(({ through }) => through ?? span.from);
  const through = epochMs(Math.min(span.to, ...throughs));
  if (times.length === 0 || times.some(({ holes }) => holes.some((hole) => hole.from < through))) {
    return ["not-all-read"];
  }
  if (through >= span.to) return [];
  return ["complete-through", isoTime(through).slice(0, 16).replace(":", "").concat("Z")];
}

const isSelected = (
  { accounts, productTypes }: ReturnType<typeof billsOf>,
  { account, productType }: Stream,
): boolean => accounts.includes(account) && productTypes.includes(productType);

function billsOf({ account, product, coin, from, to }: PageSelection) {
  return {
    accounts: [account],
    productTypes: product === unifiedWallet ? [...unifiedProductTypes] : [product],
    coins: [coin],
    from: epochMs(Date.parse(from)),
    to: epochMs(Date.parse(to) + dayMs),
  } satisfies BillSelection;
}
