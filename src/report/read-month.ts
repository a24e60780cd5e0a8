import { sql } from "drizzle-orm";
import { isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { timeText } from "../db/sql/time-text.ts";
import { readReportedWallets } from "../export/reported-wallets.ts";
import { monthIn } from "../export/time-zone.ts";
import { readToldBalances } from "../health/balances.ts";
import { readAccepted, readFindings } from "../health/findings.ts";
import { type Finding, isOfBills, sentenceOf } from "../health/kinds.ts";
import { usualLimits } from "../health/select.ts";
import { acceptedParts } from "../health/verdict.ts";
import { formatInterval } from "../output/format.ts";
import { streamName } from "../output/stream-names.ts";
import { isSelected, type RosterLedger, type Selection } from "../roster/roster.ts";
import { programVersion } from "../version.ts";
import type { LedgerMonth, MonthReport } from "./month-report.ts";
import { readLedgerMonth } from "./read-ledger.ts";

/**
 * The month of the selected ledgers, as stored at one moment.
 * @param roster all ledgers of the selected accounts.
 * @param month `2026-10`, in UTC.
 */
export async function readMonthReport(
  tx: Transaction,
  roster: readonly RosterLedger[],
  { month, selection }: { readonly month: string; readonly selection: Selection },
): Promise<MonthReport> {
  const scope = { ...selection, roster };
  const wallets = await readReportedWallets(
    tx,
    roster.filter(({ isStored }) => isStored),
    (stream) => isSelected(selection, stream),
  );
  const span = monthIn(month, "UTC");
  const { generatedAt, ...versions } = await readVersions(tx);
  const isOver = generatedAt >= isoTime(span.to);
  const now = await readExchangeTime(tx, scope.accounts);
  // Of a month, any unread time is a lack.
  const limits = { ...usualLimits, maxAgeMs: 0 };
  const findings = await readFindings(tx, { ...scope, span, now, limits });
  const isUnchecked = ({ account, productType }: LedgerMonth["wallet"]) =>
    findings.some(
      (one) => one.kind === "unchecked" && one.account === account && one.ledger === productType,
    );
  const told = await readToldBalances(tx, scope.accounts, span.to);
  const ledgers: LedgerMonth[] = [];
  for (const wallet of wallets)
    ledgers.push({
      ...(await readLedgerMonth(tx, wallet, span)),
      told: told.filter(
        ({ account, ledger }) => account === wallet.account && ledger === wallet.productType,
      ),
      isReconciled: !isUnchecked(wallet),
    });
  const isRestated = ({ account, ledger }: Finding) =>
    ledgers.some(
      ({ wallet, restatements }) =>
        restatements.total > 0 && wallet.account === account && wallet.productType === ledger,
    );
  const isOfMonth = (finding: Finding) =>
    isOfBills(finding) && (finding.kind !== "restated" || isRestated(finding));
  return {
    month,
    span,
    generatedAt,
    versions,
    lacking: [
      ...(isOver ? [] : [`${month} is not over yet: it ends ${isoTime(span.to)}`]),
      ...(ledgers.length === 0 ? ["no ledger is stored: nothing was synced yet"] : []),
      ...ledgers.flatMap(({ wallet, coverage }) =>
        coverage.older.map(
          (span) =>
            `${streamName(wallet)} not read ${formatInterval(span)}, before its history begins`,
        ),
      ),
      ...findings.filter(isOfMonth).map((finding) => sentenceOf(finding, now)),
      ...ledgers.flatMap(({ wallet, rollforward }) =>
        rollforward
          .filter(({ opening }) => opening === null)
          .map(
            ({ coin }) =>
              `${streamName(wallet)} ${coin}: no bill shows a balance, so none is known`,
          ),
      ),
    ],
    accepted: acceptedParts(await readAccepted(tx, { ...scope, span })),
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
