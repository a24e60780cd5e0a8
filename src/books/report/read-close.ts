import { sql } from "drizzle-orm";
import { isSelected, type RosterLedger, type Selection } from "../../accounts/roster.ts";
import { readComparedBalances } from "../../check/health/balances.ts";
import { readAccepted, readFindings } from "../../check/health/findings.ts";
import { type Finding, isOfBills } from "../../check/health/kinds.ts";
import type { Limits } from "../../check/health/select.ts";
import { acceptedParts, headLines } from "../../check/health/verdict.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { onlyRow, timeText } from "../../core/postgres/values.ts";
import { readExchangeTime } from "../../core/store/known-time.ts";
import { appliedMigrations } from "../../core/store/migrate.ts";
import { type Interval, interval, subtract } from "../../core/words/intervals.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import { programVersion } from "../../lib/version.ts";
import { formatCounted, formatInterval, ledgerName } from "../../output/output-format.ts";
import { readReportedWallets } from "../export/reported-wallets.ts";
import type { BalanceCheck, CloseReport, LedgerClose, ReportOptions } from "./close-report.ts";
import { readFlows } from "./flows.ts";
import { readLedgerClose } from "./read-ledger.ts";

/**
 * The period of the selected ledgers, as stored at one moment.
 * @param roster all ledgers of the selected accounts.
 */
export async function readCloseReport(
  tx: Transaction,
  roster: readonly RosterLedger[],
  {
    selection,
    limits: usual,
    ...options
  }: ReportOptions & { readonly selection: Selection; readonly limits: Limits },
): Promise<CloseReport> {
  const { period, span, signedAt } = options;
  const scope = { ...selection, roster };
  const wallets = await readReportedWallets(
    tx,
    roster.filter(({ isStored }) => isStored),
    (ledger) => isSelected(selection, ledger),
  );
  const { generatedAt, ...versions } = await readVersions(tx);
  const isOver = generatedAt >= isoTime(span.to);
  const now = await readExchangeTime(tx, scope.accounts);
  // A month that is over reports all unread time, however new.
  const limits = { ...usual, ...(isOver && { maxAgeMs: 0 }) };
  const findings = await readFindings(tx, { ...scope, span, now, limits });
  const balanceChecks = await readBalanceChecks(tx, scope.accounts, span);
  const accounts = [...new Set(wallets.map(({ account }) => account))];
  const legs = await readFlows(tx, accounts, span);
  const isChanged = ({ account, productTypes }: LedgerClose["wallet"]) =>
    findings.some(
      (finding) =>
        finding.account === account &&
        productTypes.some((type) => type === finding.ledger) &&
        finding.kind === "broken" &&
        finding.breakIds.length === 0,
    );
  const ledgers: LedgerClose[] = [];
  for (const wallet of wallets) {
    const ledger = await readLedgerClose(tx, wallet, { span, signedAt });
    ledgers.push({
      ...ledger,
      balanceChecks: balanceChecks.filter(
        (check) =>
          check.account === wallet.account &&
          check.ledger === wallet.productType &&
          // A closing that follows from bills that somebody changed is not what the exchange confirms.
          !isChanged(wallet) &&
          isReadUpTo(check, span, ledger.coverage.read),
      ),
      flows: legs.filter(
        ({ account, productType }) =>
          account === wallet.account && wallet.productTypes.includes(productType),
      ),
    });
  }
  return {
    ...options,
    ...{ generatedAt, versions },
    problems: [
      ...(isOver ? [] : [`${period} is not over yet: it ends ${isoTime(span.to)}`]),
      ...problemsOf(ledgers, findings, now),
    ],
    accepted: acceptedParts(await readAccepted(tx, { ...scope, span })),
    ledgers: ledgers.toSorted((a, b) => Number(a.wallet.isDemo) - Number(b.wallet.isDemo)),
  };
}

/** What the period lacks of its ledgers' bills. */
function problemsOf(
  ledgers: readonly LedgerClose[],
  findings: readonly Finding[],
  now: EpochMs,
): readonly string[] {
  const isRestated = ({ account, ledger }: Finding) =>
    ledgers.some(
      ({ wallet, restatements }) =>
        restatements.total > 0 && wallet.account === account && wallet.productType === ledger,
    );
  const isOfPeriod = (finding: Finding) =>
    isOfBills(finding) && (finding.kind !== "restated" || isRestated(finding));
  return [
    ...(ledgers.length === 0 ? ["no ledger is stored: nothing was synced yet"] : []),
    ...ledgers.flatMap(({ wallet, coverage }) =>
      coverage.older.map(
        (span) =>
          `${ledgerName(wallet)} was not read from ${formatInterval(span)}, before its history begins`,
      ),
    ),
    ...headLines(findings.filter(isOfPeriod), now).map(({ text }) => text),
    ...ledgers.flatMap(({ wallet, figures }) =>
      figures
        .filter(({ opening }) => opening === null)
        .map(
          ({ coin }) => `${ledgerName(wallet)} ${coin}: no bill shows a balance, so none is known`,
        ),
    ),
  ];
}

/** The balances that the exchange told first at the period's start or later, and at its end or later. */
async function readBalanceChecks(
  tx: Transaction,
  accounts: readonly string[] | undefined,
  span: Interval,
): Promise<readonly BalanceCheck[]> {
  const opening = await readComparedBalances(tx, accounts, span.from);
  const closing = await readComparedBalances(tx, accounts, span.to);
  const inTime = opening.filter(({ asOf }) => asOf < span.to);
  return [
    ...inTime.map((balance): BalanceCheck => ({ ...balance, of: "opening" })),
    ...closing.map((balance): BalanceCheck => ({ ...balance, of: "closing" })),
  ];
}

/** Whether bills lead from the period's start or end to the balance: else it confirms neither. */
const isReadUpTo = (
  { of, asOf }: BalanceCheck,
  span: Interval,
  read: readonly Interval[],
): boolean => subtract(interval(of === "opening" ? span.from : span.to, asOf), read).length === 0;

async function readVersions(tx: Transaction) {
  const { rows } = await tx.execute<{ now: string; postgres: string }>(sql`
    select
      ${timeText(sql`transaction_timestamp()`)} as now,
      current_setting('server_version') as postgres`);
  const { now, postgres } = onlyRow(rows, "the server's version");
  const { length: migrations } = await appliedMigrations(tx);
  return {
    generatedAt: now,
    program: programVersion(),
    node: process.versions.node,
    postgres,
    schema: formatCounted(migrations, "migration"),
  };
}
