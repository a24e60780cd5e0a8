import { readOpenings } from "../../../books/export/chains.ts";
import type { Chunks } from "../../../books/export/exported-bill.ts";
import { formatOf } from "../../../books/export/formats.ts";
import { readBills, readWalletEnds } from "../../../books/export/read-bills.ts";
import { readFindings } from "../../../check/health/findings.ts";
import { type Finding, isHole } from "../../../check/health/kinds.ts";
import { usualLimits } from "../../../check/health/select.ts";
import type { ProductType } from "../../../core/contract/product-types.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { type PageQuery, timesOf, walletProductTypes } from "./selection.ts";

/** The formats that the page offers, with their usual names. */
export const downloadFormats = {
  csv: { title: "CSV", ending: "csv", type: "text/csv; charset=utf-8; header=present" },
  xlsx: {
    title: "Excel",
    ending: "xlsx",
    type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  },
  parquet: { title: "Parquet", ending: "parquet", type: "application/vnd.apache.parquet" },
  hledger: { title: "hledger", ending: "journal", type: "text/plain; charset=utf-8" },
  beancount: { title: "beancount", ending: "beancount", type: "text/plain; charset=utf-8" },
} as const;

export type DownloadFormat = keyof typeof downloadFormats;

export const isDownloadFormat = (name: string | null): name is DownloadFormat =>
  name !== null && Object.hasOwn(downloadFormats, name);

/** A file of the selected bills. */
export type ExportFile = {
  /** The name says so if the time was not read completely, or if balances do not follow. */
  readonly name: string;
  readonly type: string;
  readonly chunks: Chunks;
};

/**
 * Starts an export inside one transaction. Nothing else may use the transaction until the file's chunks end.
 */
export async function exportFile(
  tx: Transaction,
  selection: PageQuery,
  format: DownloadFormat,
  now: EpochMs,
): Promise<ExportFile> {
  const { account, product, coin, from, to } = selection;
  const bills = {
    accounts: [account],
    productTypes: walletProductTypes(selection) as readonly ProductType[],
    coins: [coin],
    ...timesOf(selection),
  };
  const write = await formatOf(format).load();
  const walletEnds = formatOf(format).isJournal ? await readWalletEnds(tx, bills) : [];
  const wallet = { account, productType: product, productTypes: bills.productTypes };
  const openings = formatOf(format).isJournal
    ? await readOpenings(tx, [{ ...wallet, endedAt: undefined }], timesOf(selection))
    : [];
  const { ending, type } = downloadFormats[format];
  const words = [account, product, coin, from, "to", to, ...(await lackOf(tx, selection, now))];
  return {
    name: fileName(words, ending),
    type,
    chunks: write(readBills(tx, bills), {
      walletEnds,
      openings: openings.filter((one) => one.coin === coin),
    }),
  };
}

export const fileName = (words: readonly string[], ending: string): string =>
  `${words.map((word) => word.replaceAll(/[^\w.-]/g, "_")).join("-")}.${ending}`;

/** Words for the file's name that say what is not known to be complete, or does not add up. */
async function lackOf(
  tx: Transaction,
  selection: PageQuery,
  now: EpochMs,
): Promise<readonly string[]> {
  const { account, coin } = selection;
  const productTypes = walletProductTypes(selection) as readonly ProductType[];
  const times = timesOf(selection);
  const span = { from: times.from, to: epochMs(Math.min(now, times.to)) };
  // A file reports all unread time; where only the newest is unread, its name has the time that it is read through.
  const limits = { ...usualLimits, maxAgeMs: 0 };
  const findings = await readFindings(tx, { now, accounts: [account], productTypes, span, limits });
  const isNewest = ({ kind, since = epochMs(0) }: Finding) =>
    kind === "behind" || (kind === "unread" && since > now - usualLimits.maxAgeMs);
  const isIncomplete = findings.some((one) => isHole(one) && !isNewest(one));
  const isBroken = findings.some((one) => one.kind === "broken" && ["", coin].includes(one.coin));
  const through = findings
    .filter(isNewest)
    .reduce<number>((to, { since }) => Math.min(to, since ?? 0), span.to);
  return [
    ...(isIncomplete || through <= span.from
      ? ["not-all-read"]
      : through === span.to
        ? []
        : ["read-through", isoTime(epochMs(through)).slice(0, 16).replace(":", "").concat("Z")]),
    ...(isBroken ? ["does-not-add-up"] : []),
  ];
}
