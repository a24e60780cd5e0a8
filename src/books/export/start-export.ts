import type { Transaction } from "../../core/postgres/connect.ts";
import { readRenamed } from "../../core/store/reference/renamings.ts";
import type { EpochMs } from "../../lib/time.ts";
import { readOpenings } from "./chains.ts";
import type { BillPages, Chunks } from "./exported-bill.ts";
import { type FormatName, formatOf } from "./formats.ts";
import { type BillSelection, readBills } from "./read-bills.ts";
import { readReportedWallets, type StoredLedger } from "./reported-wallets.ts";
import { dayIn } from "./time-zone.ts";

type Exporting = {
  readonly format: FormatName;
  readonly selection: BillSelection;
  /** All ledgers of the selected accounts. */
  readonly ledgers: readonly StoredLedger[];
  /** Whose clock dates a bill. Default UTC. */
  readonly zone?: string;
  /** Of a journal that continues earlier files: when the first of them began; undefined for the first bill. */
  readonly continues?: { readonly since: EpochMs | undefined } | undefined;
  readonly now: EpochMs;
};

/**
 * Starts an export inside one transaction. Nothing else may use the transaction until its chunks end.
 * @param counted sees the pages of bills that are written.
 */
export async function startExport(
  tx: Transaction,
  { format, selection, ledgers, zone = "UTC", continues, now }: Exporting,
  counted: (pages: BillPages) => BillPages = (pages) => pages,
): Promise<Chunks> {
  const { load, isJournal = false } = formatOf(format);
  const write = await load();
  const { accounts, coins, from, to } = selection;
  const renamed = await readRenamed(tx, accounts);
  const firstNames = new Map(renamed.map(({ account, firstName }) => [account, firstName]));
  const pages = counted(readBills(tx, selection));
  if (!isJournal) return write(pages, { zone, firstNames });
  const wallets = await readReportedWallets(tx, ledgers, selection);
  const openingsOf = async (since?: EpochMs, until = now) =>
    since === undefined ? [] : readOpenings(tx, wallets, { from: since, to: until });
  // What the wallets held when the journal begins, and when the first of earlier files began.
  const openings = [...(await openingsOf(continues?.since, from)), ...(await openingsOf(from, to))];
  const isWithin = (time: EpochMs) => time >= (from ?? 0) && (to === undefined || time < to);
  return write(pages, {
    zone,
    openings: openings.filter(({ coin }) => coins?.includes(coin) ?? true),
    walletEnds: wallets.flatMap(({ account, productType: wallet, endedAt: at }) =>
      at !== undefined && isWithin(at) ? { account, wallet, at } : [],
    ),
    ...(continues &&
      from !== undefined && {
        before: readBills(tx, { ...selection, from: continues.since, to: from }),
        startDay: dayIn(zone)(from),
      }),
  });
}
