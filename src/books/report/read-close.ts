import { type SQL, sql } from "drizzle-orm";
import type { RosterLedger, Selection } from "../../accounts/roster.ts";
import { acceptedParts, readAccepted } from "../../check/health/accepted.ts";
import { readComparedBalances } from "../../check/health/balances.ts";
import { type Finding, isOfBills } from "../../check/health/finding-kinds.ts";
import type { Limits } from "../../check/health/finding-rows.ts";
import { readFindings } from "../../check/health/findings.ts";
import { headLines, lineOf } from "../../check/health/verdict.ts";
import { type Break, readBreaks } from "../../check/reconcile/breaks.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { isOneOf, onlyRow, timeText } from "../../core/postgres/values.ts";
import { contentColumns } from "../../core/store/bill-rows.ts";
import { readExchangeTime } from "../../core/store/known-time.ts";
import { appliedMigrations } from "../../core/store/migrate.ts";
import { type Among, listRejected, openRejections } from "../../core/store/rejected-bills.ts";
import { joinRules, walletMoves } from "../../core/views/wallet-moves.ts";
import { type Interval, intersect, interval, subtract, union } from "../../core/words/intervals.ts";
import { ledgerStart } from "../../core/words/plan.ts";
import { decimalOf } from "../../lib/decimal.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import { programVersion } from "../../lib/version.ts";
import { formatCounted, formatInterval, ledgerName } from "../../output/text.ts";
import { readBills } from "../export/read-bills.ts";
import {
  inAll,
  isBillOf,
  isWithin,
  type ReportedWallet,
  readReportedWallets,
  readTimes,
} from "../export/reported-wallets.ts";
import type {
  Change,
  CloseReport,
  Coverage,
  LedgerClose,
  ReportOptions,
  Restatement,
} from "./close-report.ts";
import { digestOf } from "./digest.ts";
import { readFigures } from "./figures.ts";
import { readFlows } from "./flows.ts";

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
    rowsMax,
    ...options
  }: ReportOptions & {
    readonly selection: Selection;
    readonly limits: Limits;
    /** How many rejected rows and restatements of a ledger are read. Default all. */
    readonly rowsMax?: number | undefined;
  },
): Promise<CloseReport> {
  const { period, span, signedAt } = options;
  const scope = { ...selection, roster };
  const wallets = await readReportedWallets(tx, roster, selection);
  const { generatedAt, ...versions } = await readVersions(tx);
  const isOver = generatedAt >= isoTime(span.to);
  const now = await readExchangeTime(tx, scope.accounts);
  // A month that is over reports all unread time, however new.
  const limits = { ...usual, ...(isOver && { maxAgeMs: 0 }) };
  const findings = await readFindings(tx, { ...scope, span, now, limits });
  const balanceChecks = await readComparedBalances(tx, scope.accounts, span.to);
  const accounts = [...new Set(wallets.map(({ account }) => account))];
  const legs = await readFlows(tx, accounts, span);
  const isChanged = ({ account, productType }: LedgerClose["wallet"]) =>
    findings.some(
      (finding) =>
        finding.account === account &&
        finding.ledger === productType &&
        finding.kind === "broken" &&
        finding.breakIds.length === 0,
    );
  const ledgers: LedgerClose[] = [];
  for (const wallet of wallets) {
    const ledger = await readLedgerClose(tx, wallet, { span, signedAt, rowsMax });
    ledgers.push({
      ...ledger,
      balanceChecks: balanceChecks.filter(
        (check) =>
          check.account === wallet.account &&
          check.ledger === wallet.productType &&
          // A closing that follows from bills that somebody changed is not what the exchange confirms.
          !isChanged(wallet) &&
          // Where not all time since the period was read, bills do not lead to the balance.
          subtract(interval(span.to, check.asOf), ledger.coverage.read).length === 0,
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
    ledgers,
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
    ...headLines(findings.filter(isOfPeriod), now).map(lineOf),
    ...ledgers.flatMap(({ wallet, figures }) =>
      figures
        .filter(({ opening }) => opening === null)
        .map(
          ({ coin }) => `${ledgerName(wallet)} ${coin}: no bill shows a balance, so none is known`,
        ),
    ),
  ];
}

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

/** A ledger's period, in one snapshot. */
async function readLedgerClose(
  tx: Transaction,
  stored: ReportedWallet,
  {
    span,
    signedAt,
    rowsMax,
  }: Pick<ReportOptions, "span" | "signedAt"> & { readonly rowsMax: number | undefined },
): Promise<Omit<LedgerClose, "balanceChecks" | "flows">> {
  const { account, productTypes, endedAt } = stored;
  // An end after the period is not part of the report.
  const isEnded = endedAt !== undefined && endedAt < span.to;
  const wallet = { ...stored, endedAt: isEnded ? endedAt : undefined };
  const selection = { accounts: [account], productTypes, ...span };
  const restatements = await readRestatements(tx, wallet, span, rowsMax);
  return {
    ...{ wallet, restatements },
    digest: await digestOf(readBills(tx, selection)),
    coverage: await readCoverage(tx, wallet, span),
    reconciledAt: await readReconciledAt(tx, wallet),
    figures: await readFigures(tx, wallet, span),
    changes: signedAt === undefined ? [] : await readChanges(tx, wallet, span, signedAt),
    digestThen:
      signedAt === undefined
        ? undefined
        : await digestOf(readBills(tx, { ...selection, asOf: signedAt })),
    rejected: await readRejected(tx, selection, rowsMax),
    acceptedRows: await listRejected(tx, selection, "accepted"),
    breaks: await readPeriodBreaks(tx, wallet, span, restatements.total > 0),
  };
}

async function readCoverage(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
): Promise<Coverage> {
  const { unread, endedAt } = wallet;
  const times = await readTimes(tx, wallet);
  const read = unread.length === 0 ? inAll(times.map(({ coverage }) => coverage)) : [];
  const recoverFrom = Math.max(span.from, ...times.map((one) => ledgerStart(one, span.to)));
  const complete = intersect([span], read);
  const inAny = (all: readonly Interval[]) => intersect([span], union(all));
  const lost = subtract(inAny(times.flatMap((one) => one.lost)), complete);
  const known = [...complete, ...lost];
  const recovered = subtract(inAny(times.flatMap((one) => one.recovered ?? [])), known);
  // After its closing, a ledger has nothing to read.
  const wanted = interval(span.from, Math.min(span.to, endedAt ?? span.to));
  const older = subtract(interval(span.from, Math.min(recoverFrom, span.to)), recovered);
  return {
    ...{ read, complete, lost, recovered, older },
    unread: subtract(wanted, [...known, ...recovered, ...older]),
    isStartRead: [...complete, ...recovered].some(({ from }) => from === span.from),
  };
}

/** A hundred thousand rows are 30 MB, and a person reads a page of them. */
async function readRejected(
  tx: Transaction,
  among: Among,
  rowsMax: number | undefined,
): Promise<LedgerClose["rejected"]> {
  const { rows } = await tx.execute<{ total: number }>(sql`
    select coalesce(sum(rejected), 0)::int as total
    from ${openRejections(among.accounts)} as open
    where ${isOneOf(among.productTypes, "product_type")}`);
  const shown = await listRejected(tx, among, "open", rowsMax);
  return { total: onlyRow(rows, "the number of rejected rows").total, shown };
}

async function readReconciledAt(tx: Transaction, wallet: ReportedWallet): Promise<string | null> {
  const { rows } = await tx.execute<{ reconciled_at: string | null }>(sql`
    select ${timeText(sql`min(reconciled_at)`)} as reconciled_at
    from reconciled_chains
    where account = ${wallet.account} and wallet = ${wallet.productType}`);
  return rows[0]?.reconciled_at ?? null;
}

/** Replaced contents of bills that are or were of the period, each beside the content that came after it. */
async function readRestatements(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  rowsMax: number | undefined,
): Promise<LedgerClose["restatements"]> {
  const isOfPeriod = (content: SQL) => isWithin(sql`(${content} ->> 'c_time')::timestamptz`, span);
  type Content = Readonly<Record<string, string | null>>;
  type Row = Omit<Restatement, "changes"> & { old: Content; new: Content; total: number };
  const { rows } = await tx.execute<Row>(sql`
    select
      bill_id as "billId",
      revision,
      ${timeText(sql`replaced_at`)} as "replacedAt",
      content as old,
      next_content as new,
      (count(*) over ())::int as total
    from (
      select
        chained.*,
        lead(content) over (partition by account, product_type, bill_id order by revision) as next_content
      from (
        select account, product_type, bill_id, revision, replaced_at, ${content} as content
        from bill_revisions
        where ${isBillOf(wallet)}
        union all
        select account, product_type, bill_id, null, null, ${content}
        from bills
        where ${isBillOf(wallet)}
          and (product_type, bill_id) in (
            select product_type, bill_id
            from bill_revisions
            where ${isBillOf(wallet)}
          )
      ) as chained
    ) as revised
    where revision is not null
      and (${isOfPeriod(sql`content`)} or ${isOfPeriod(sql`next_content`)})
    order by replaced_at, bill_id, revision
    limit ${rowsMax ?? null}`);
  return {
    total: rows[0]?.total ?? 0,
    shown: rows.map(({ old, new: next, total: _, ...row }) => ({
      ...row,
      changes: contentColumns.flatMap((field) => {
        const change = { field, old: old[field] ?? null, new: next[field] ?? null };
        return change.old === change.new ? [] : [change];
      }),
    })),
  };
}

/** A bill's content as an object of texts. */
const content = sql`jsonb_build_object(${sql.join(
  contentColumns.map((name) => {
    const column = sql`${sql.identifier(name)}`;
    return sql`${sql.raw(`'${name}'`)}, ${name === "c_time" ? timeText(column) : sql`${column}::text`}`;
  }),
  sql`, `,
)})`;

/**
 * The period's breaks that are open, and those that were accepted, also if a later check has resolved them. Restatements
 * are included if the period has some.
 */
async function readPeriodBreaks(
  tx: Transaction,
  { account, productType, productTypes }: ReportedWallet,
  span: Interval,
  isRestated: boolean,
): Promise<readonly Break[]> {
  const scope = { accounts: [account], productTypes: [productType, ...productTypes] };
  const isOfPeriod = ({ kind, happenedAt }: Break): boolean => {
    if (happenedAt === null) return true;
    if (kind === "restated") return isRestated;
    return happenedAt >= isoTime(span.from) && happenedAt < isoTime(span.to);
  };
  const breaks = (await readBreaks(tx, scope, { isAll: true })).filter(isOfPeriod);
  const open = breaks.filter(({ state }) => state === "open");
  return [...open, ...breaks.filter(({ state, acceptedAt }) => state !== "open" && acceptedAt)];
}

/**
 * What bills of the period moved since a time more than what was stored of them then. A bill that was first stored later is
 * late, or recovered; of a restated one, the revision of that time is taken off.
 */
async function readChanges(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  signedAt: EpochMs,
): Promise<readonly Change[]> {
  const at = sql`${isoTime(signedAt)}::timestamptz`;
  const columns = sql.raw(
    "account, product_type, bill_id, business_type, coin, amount, fee, fee_by_coupon, source",
  );
  const moves = walletMoves("contents");
  type Row = Omit<Change, "difference"> & { readonly difference: string };
  const { rows } = await tx.execute<Row>(sql`
    select
      case when is_restated then 'restated' when is_recovered then 'recovered' else 'late' end as kind,
      category,
      coin,
      count(*)::float8 as bills,
      sum(moved)::text as difference,
      ${timeText(sql`min(changed_at)`)} as since,
      ${timeText(sql`max(changed_at)`)} as until
    from (
      select
        contents.product_type,
        contents.bill_id,
        contents.coin,
        coalesce(business_types.category, 'unclassified') as category,
        bool_or(bool_or(is_then)) over (
          partition by contents.product_type, contents.bill_id
        ) as is_restated,
        bool_or(contents.source = 'tax-records') as is_recovered,
        sum((case when is_then then -1 else 1 end) * (${moves.amount} + ${moves.fee})) as moved,
        max(contents.changed_at) as changed_at
      from (
        select ${columns}, false as is_then, ingested_at as changed_at
        from bills
        where ${isBillOf(wallet)}
          and ${isWithin(sql`c_time`, span)}
          and ingested_at > ${at}
        union all
        select ${columns}, true, replaced_at
        from bill_revisions
        where ${isBillOf(wallet)}
          and ${isWithin(sql`c_time`, span)}
          and ingested_at <= ${at}
          and replaced_at > ${at}
      ) as contents
      ${joinRules("contents")}
      group by contents.product_type, contents.bill_id, contents.coin, 4
    ) as changed
    group by 1, category, coin
    order by 1, category, coin`);
  return rows.map((row) => ({ ...row, difference: decimalOf(row.difference) }));
}
