import { sql } from "drizzle-orm";
import { isoTime } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { onlyRow } from "../../db/sql/only-row.ts";
import { timeText } from "../../db/sql/time-text.ts";
import { monthIn } from "../../export/time-zone.ts";
import type { ReportedWallet } from "../../reports/reported-wallets.ts";
import type { Interval } from "../../sync/intervals.ts";
import { formatCounted, formatInterval } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { programVersion } from "../../version.ts";
import type { LedgerMonth, MonthReport } from "./month-report.ts";
import { readLedgerMonth } from "./read-ledger.ts";

/** These ledgers' month, as stored at one moment. */
export async function readMonthReport(
  tx: Transaction,
  wallets: readonly ReportedWallet[],
  month: string,
): Promise<MonthReport> {
  const span = monthIn(month, "UTC");
  const { generatedAt, ...versions } = await readVersions(tx);
  const ledgers: LedgerMonth[] = [];
  for (const wallet of wallets) ledgers.push(await readLedgerMonth(tx, wallet, span));
  const isOver = generatedAt >= isoTime(span.to);
  return {
    month,
    span,
    generatedAt,
    versions,
    lacking: [
      ...(isOver ? [] : [`${month} is not over yet: it ends ${isoTime(span.to)}`]),
      ...(ledgers.length === 0 ? ["no ledger is stored: nothing was synced yet"] : []),
      ...ledgers.flatMap(lackingOf),
    ],
    ledgers,
  };
}

async function readVersions(tx: Transaction) {
  const { rows } = await tx.execute<{ now: string; postgres: string; schema: string }>(sql`
    select
      ${timeText(sql`transaction_timestamp()`)} as now,
      current_setting('server_version') as postgres,
      (select count(*) from drizzle.__drizzle_migrations)::text as schema`);
  const { now, postgres, schema } = onlyRow(rows, "the server's version");
  return {
    generatedAt: now,
    program: programVersion(),
    node: process.versions.node,
    postgres,
    schema: `${schema} migrations`,
  };
}

/** Sentences on what a ledger's figures lack for a complete month. */
function lackingOf(ledger: LedgerMonth): readonly string[] {
  const { coverage, rollforward, rejected, breaks, isReconciled, reconciledAt } = ledger;
  const { wallet } = ledger;
  const name = streamName(wallet);
  const times = (what: string, spans: readonly Interval[]) =>
    spans.map((span) => `${name}: ${what}, ${formatInterval(span)}`);
  const isOff = rollforward.filter((coin) => !isZero(coin.difference) || !isZero(coin.unsettled));
  return [
    ...(wallet.unread.length === 0
      ? []
      : [`${name}: not every category of its balances was read: ${wallet.unread.join(", ")}`]),
    ...times("not read completely", coverage.missing),
    ...times("lost, older than the exchange's 90 days before it was read", coverage.lost),
    ...(isReconciled
      ? []
      : [
          reconciledAt === null
            ? `${name}: never reconciled; run reconcile`
            : `${name}: no reconcile has looked at its newest bills; run reconcile`,
        ]),
    ...rollforward
      .filter(({ opening }) => opening === null)
      .map(({ coin }) => `${name} ${coin}: no bill shows a balance, so none is known`),
    ...isOff.map(
      ({ coin, difference, unsettled }) =>
        `${name} ${coin}: the balance differs from its bills by ${difference}` +
        (isZero(unsettled) ? "" : `; reconcile has not judged ${unsettled} of it yet`),
    ),
    ...(rejected.total === 0
      ? []
      : [`${name}: ${formatCounted(rejected.total, "rejected row")} of unknown time`]),
    ...(breaks.open === 0 ? [] : [`${name}: ${formatCounted(breaks.open, "open break")}`]),
  ];
}

const isZero = (decimal: string): boolean => /^-?[0.]*$/.test(decimal);
