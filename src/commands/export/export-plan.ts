import { sql } from "drizzle-orm";
import { storedAmong } from "../../app/reachable-accounts.ts";
import { isSelected, refuseUnknownAccounts } from "../../app/selection.ts";
import { systemClock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { isDemoProductType, isUnified, walletOf } from "../../contract/product-types.ts";
import { epochMs, isoTime, minuteMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { msOf } from "../../db/sql/time-text.ts";
import { UsageError } from "../../errors.ts";
import {
  type ExportedTime,
  readExportedTimes,
  readUnreconciled,
} from "../../export/completeness.ts";
import { isJournal, isPriced, showsWallets } from "../../export/formats.ts";
import type { BillSelection } from "../../export/read-bills.ts";
import { countRejected } from "../../reports/count-rejected.ts";
import type { Stream } from "../../sync/store.ts";
import { streamName } from "../../terminal/stream-names.ts";
import type { ExportOptions } from "./export-options.ts";
import { exportNotes, exportWarnings } from "./export-warnings.ts";

/** What an export reads, and the lines that are printed beside it. */
export type ExportPlan = {
  readonly selection: BillSelection;
  /** For a journal that continues earlier files: the bills in those files. */
  readonly before: BillSelection | undefined;
  readonly said: readonly string[];
};

export async function planExport(
  tx: Transaction,
  config: Config,
  options: ExportOptions,
): Promise<ExportPlan> {
  const stored = await storedAmong(tx, config, options.accounts);
  refuseUnknownAccounts(options, config, stored);
  const isLeftOut = unaskedDemo(config, options);
  const chosen = stored.filter((stream) => isSelected(options, stream));
  const synced = chosen.filter((stream) => !isLeftOut(stream));
  const leftOut = chosen.filter(isLeftOut);
  if (isJournal(options.format)) refuseHalfWallets(options, stored);
  const times = await readExportedTimes(tx, synced, options, systemClock.now());
  const isCut = options.to === undefined && options.changedSince === undefined;
  const through = isCut ? endsOf(times) : [];
  const ends = [...through, ...leftOut.map((stream) => ({ ...stream, to: epochMs(0) }))];
  const { accounts, productTypes, from, to, changedSince, continues } = options;
  const selection = { accounts, productTypes, from, to, changedSince, ends };
  return {
    selection,
    before: continues && { ...selection, from: continues.since, to: from },
    said: [
      ...exportWarnings({
        missing: missingOf(options, stored, synced),
        times,
        quarantined: (await countRejected(tx, options.accounts)).filter((row) =>
          synced.some((stream) => streamName(stream) === streamName(row)),
        ),
        unreconciled: showsWallets(options.format) ? await readUnreconciled(tx, selection) : [],
      }).map((text) => `warning: ${text}`),
      ...exportNotes({
        leftOut,
        through: through.flatMap(({ to, isClosed }) => (isClosed ? [] : [to])),
        next: changedSince === undefined ? undefined : await nextChangedSince(tx),
      }),
    ],
  };
}

/**
 * Finds streams of demo trading that nobody asked for, if the format would pass them off as real
 * money.
 */
function unaskedDemo(
  { accounts }: Config,
  { format, demo, ...asked }: ExportOptions,
): (stream: Stream) => boolean {
  if (demo || !isPriced(format)) return () => false;
  const demoAccounts = accounts.filter((account) => account.demo).map(({ name }) => name);
  return ({ account, productType }) => {
    const isDemoAccount = demoAccounts.includes(account);
    const isDemoProduct = isDemoProductType(productType);
    return (
      (isDemoAccount || isDemoProduct) &&
      !(isDemoAccount && asked.accounts?.includes(account)) &&
      !(isDemoProduct && asked.productTypes?.includes(productType))
    );
  };
}

/**
 * @throws UsageError if only some of a unified account's product types are selected: a journal
 * asserts the wallet's balance, which is over all of them.
 */
function refuseHalfWallets({ format, ...asked }: ExportOptions, stored: readonly Stream[]): void {
  const { productTypes } = asked;
  if (!productTypes?.some(isUnified)) return;
  const others = stored.filter(
    ({ account, productType }) =>
      isUnified(productType) &&
      !productTypes.includes(productType) &&
      isSelected({ ...asked, productTypes: undefined }, { account, productType }),
  );
  if (others.length === 0) return;
  const missing = [...new Set(others.map(({ productType }) => productType))];
  throw new UsageError(
    `--format ${format} asserts balances, and all product types of a unified account share one ` +
      `balance of each coin; add ${missing.map((name) => `--product ${name}`).join(" ")}`,
  );
}

/** The names that were asked for and never synced. */
function missingOf(
  options: ExportOptions,
  stored: readonly Stream[],
  synced: readonly Stream[],
): readonly string[] {
  const has = (account: string, productType: string | undefined) =>
    stored.some(
      (stream) =>
        stream.account === account && (productType ?? stream.productType) === stream.productType,
    );
  const accounts = options.accounts ?? new Set(synced.map(({ account }) => account));
  return [...accounts].flatMap((account) =>
    (options.productTypes ?? [undefined])
      .filter((productType) => !has(account, productType))
      .map((productType) => [account, productType].filter(Boolean).join("/")),
  );
}

/**
 * The ends of the exported times. A wallet has one balance over all its product types, so all of
 * them end where the first one does, those of which nothing was read completely included.
 */
function endsOf(times: readonly ExportedTime[]) {
  const nameOf = ({ account, productType }: Stream) => `${account} ${walletOf(productType)}`;
  return [...Map.groupBy(times, ({ stream }) => nameOf(stream)).values()].flatMap((wallet) => {
    const throughs = wallet.flatMap(({ through }) => through ?? []);
    if (throughs.length === 0) return [];
    const to = epochMs(Math.min(...throughs));
    return wallet.map(({ stream, isClosed }) => ({ ...stream, isClosed, to }));
  });
}

// A transaction that began before this moment may commit after it, but none lasts longer than this.
const underWayMaxMs = 10 * minuteMs;

/** The time with which the next incremental export has to begin, by the database's clock. */
async function nextChangedSince(tx: Transaction): Promise<string> {
  const { rows } = await tx.execute<{ now: string }>(
    sql`select ${msOf(sql`date_trunc('milliseconds', transaction_timestamp())`)} as now`,
  );
  return isoTime(epochMs(Number(rows[0]?.now) - underWayMaxMs));
}
