import { and, asc, count, eq, getTableColumns, inArray, ne, type SQL, sql } from "drizzle-orm";
import {
  bookedMaxMsOf,
  isUnified,
  type ProductType,
  unifiedProductTypes,
  unifiedWallet,
} from "../../core/contract/product-types.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import { breakDecisions, ledgerBreaks } from "../../core/postgres/schema/reconciliation-schema.ts";
import { bills } from "../../core/postgres/schema/schema.ts";
import { isOneOf, onlyRow } from "../../core/postgres/values.ts";
import type { Among } from "../../core/store/rejected-bills.ts";
import { differenceUnit } from "../../core/views/views.ts";
import { union } from "../../core/words/intervals.ts";
import { type EpochMs, epochMs, hourMs } from "../../lib/time.ts";
import type { Columns } from "../../output/result.ts";
import { formatCounted, formatDuration } from "../../output/text.ts";

/** What can be wrong with a ledger, by what somebody does next: see `explanation` for what the check saw. */
export const breakKinds = {
  balance:
    "a balance is not what the bills up to it explain, or the exchange says that the wallet holds another one",
  unread: "a balance is not what the bills up to it explain, and time between them is unread",
  transfer: "the two legs of a transfer are of different amounts",
  ltv: "the figures of a loan-to-value record contradict each other",
  lost: "time that was not read, and that the exchange does not serve any more",
  restated: "stored bills were served again with other content since they were last accepted",
} as const;

export type BreakKind = keyof typeof breakKinds;

/** A restated bill is a notice, and no fault of the ledger. */
export const isFault = ({ kind }: { readonly kind: BreakKind }): boolean => kind !== "restated";

type Discrepancy = {
  readonly kind: string;
  /** What was observed minus what was expected, as a decimal. */
  readonly difference: string | null;
  /** A coin, ms or bills; null where figures of a record differ. */
  readonly unit: string | null;
};

/** What a break is of, and which way it lies: as true of a missing bill as of one that is there twice. */
export function discrepancyText({ kind, difference, unit }: Discrepancy): string | null {
  if (difference === null) return null;
  const size = difference.replace("-", "");
  if (unit === "ms") return formatDuration(Number(size));
  if (unit === "bills") return formatCounted(Number(size), "bill");
  const amount = `${[size, unit ?? ""].join(" ").trim()} ${size === difference ? "higher" : "lower"}`;
  if (kind === "transfer") return `what arrived is ${amount} than what was sent`;
  if (kind === "ltv") return `the record is ${amount} than its parts explain`;
  return `the balance is ${amount} than the bills explain`;
}

/** Of what, since when and by how much. */
export const discrepancyColumns: Columns<
  Discrepancy & { readonly coin: string; readonly happenedAt: string | null }
> = {
  coin: { kind: "text", of: ({ coin }) => coin || null },
  happenedAt: { kind: "instant", title: "happened", of: ({ happenedAt }) => happenedAt },
  difference: { kind: "amount", title: "", of: ({ difference }) => difference },
  unit: { kind: "value", of: ({ unit }) => unit },
  discrepancy: { kind: "text", isForPeople: true, of: discrepancyText },
};

export type Row = typeof ledgerBreaks.$inferSelect;
export type DecisionRow = typeof breakDecisions.$inferSelect;

/** One place where the ledger does not add up. Amounts are decimals as text; what is left out is null. */
export type FoundBreak = Pick<Row, "ledger" | "coin" | "anchor" | "explanation"> &
  Partial<Pick<Row, "expected" | "observed" | "difference">> &
  Partial<Pick<Row, "firstBadBill" | "firstBadProductType">> &
  Partial<Pick<Row, "lastGoodBill" | "lastGoodProductType">> & {
    readonly kind: BreakKind;
    /** ISO 8601. */
    readonly happenedAt?: string | null;
  };

/** An acceptance or a reopening. */
type PastDecision = Pick<DecisionRow, "decision" | "decidedBy" | "note"> & {
  /** ISO 8601. */
  readonly decidedAt: string;
};

export type Break = Required<FoundBreak> &
  Pick<Row, "account" | "breakId" | "state" | "note" | "acceptedBy"> & {
    /** Of the difference: a coin, ms or bills; null where figures of a record differ. */
    readonly unit: string | null;
    /** ISO 8601. */
    readonly firstSeenAt: string;
    readonly acceptedAt: string | null;
    readonly resolvedAt: string | null;
    /** Oldest first. */
    readonly decisions: readonly PastDecision[];
  };

/**
 * Widens a scope to whole wallets. All product types of a wallet share its balance, so where one of them is
 * asked for, all are, and so is what is stored under the wallet's name.
 */
export function withWholeWallets({ accounts, productTypes }: Among): Among {
  if (productTypes === undefined || !productTypes.some(isUnified))
    return { accounts, productTypes };
  const others = productTypes.filter((productType) => !isUnified(productType));
  return { accounts, productTypes: [...others, ...unifiedProductTypes, unifiedWallet] };
}

const isoOf = (time: Date | null): string | null => time?.toISOString() ?? null;

/** Breaks of whole wallets, and those of no product type. */
function isWithin(scope: Among): SQL | undefined {
  const { accounts, productTypes } = withWholeWallets(scope);
  return and(
    accounts && inArray(ledgerBreaks.account, [...accounts]),
    productTypes && inArray(ledgerBreaks.ledger, ["", ...productTypes]),
  );
}

/**
 * The breaks in the order of their numbers, as the last check left them.
 * @param isAll includes those that are accepted or resolved.
 */
export async function readBreaks(
  db: Queryable,
  scope: Among,
  { isAll = false }: { readonly isAll?: boolean } = {},
): Promise<readonly Break[]> {
  const { lastSeenAt: _, repairFailedAt: __, ...columns } = getTableColumns(ledgerBreaks);
  const rows = await db
    .select({ ...columns, unit: sql<string | null>`${differenceUnit}` })
    .from(ledgerBreaks)
    .where(and(isAll ? undefined : eq(ledgerBreaks.state, "open"), isWithin(scope)))
    .orderBy(asc(ledgerBreaks.breakId));
  const decisions = await db
    .select()
    .from(breakDecisions)
    .where(isOneOf(scope.accounts))
    .orderBy(asc(breakDecisions.place));
  const decisionsOf = Map.groupBy(decisions, ({ breakId }) => breakId);
  return rows.map(({ happenedAt, firstSeenAt, acceptedAt, resolvedAt, kind, ...row }) => ({
    ...row,
    kind: kind as BreakKind,
    happenedAt: isoOf(happenedAt),
    firstSeenAt: firstSeenAt.toISOString(),
    acceptedAt: isoOf(acceptedAt),
    resolvedAt: isoOf(resolvedAt),
    decisions: (decisionsOf.get(row.breakId) ?? []).map(
      ({ decision, decidedAt, decidedBy, note }) => ({
        decision,
        decidedAt: decidedAt.toISOString(),
        decidedBy,
        note,
      }),
    ),
  }));
}

/** How many breaks are accepted of which something still does not add up. */
export async function countAccepted(db: Queryable, scope: Among): Promise<number> {
  const { state, coin } = ledgerBreaks;
  const rows = await db
    .select({ breaks: count() })
    .from(ledgerBreaks)
    .where(and(eq(state, "accepted"), ne(coin, ""), isWithin(scope)));
  return onlyRow(rows, "a count of breaks").breaks;
}

export type BrokenSpan = {
  readonly account: string;
  readonly productType: ProductType;
  readonly from: EpochMs;
  readonly to: EpochMs;
};

/**
 * The spans of time around the open breaks of balances and transfers: from the last good bill to the first bad one, or to the
 * balance that the exchange told, both included. Overlapping spans are merged. The missing bill may belong to any product type
 * of the wallet.
 * @param skipsFailed whether to leave out what was read again in vain within a day.
 */
export async function readBrokenSpans(
  db: Queryable,
  scope: Among,
  { skipsFailed = false }: { readonly skipsFailed?: boolean } = {},
): Promise<readonly BrokenSpan[]> {
  const { account, ledger, coin, happenedAt, state, repairFailedAt } = ledgerBreaks;
  const isInVain = sql`${repairFailedAt} > statement_timestamp() - interval '1 day'`;
  const rows = await db
    .select({
      ...{ account, wallet: ledger, happenedAt },
      goodAt: sql<Date | null>`(
        select c_time
        from bills
        where bills.account = ledger_breaks.account
          and bills.product_type = coalesce(last_good_product_type, ledger)
          and case when last_good_bill is null
            then bills.coin = ledger_breaks.coin and c_time <= happened_at
            else bill_id = last_good_bill end
        order by c_time desc
        limit 1
      )`.mapWith(bills.cTime),
    })
    .from(ledgerBreaks)
    .where(
      and(
        eq(state, "open"),
        ...[ne(coin, ""), ne(ledger, "")],
        skipsFailed ? sql`${isInVain} is not true` : undefined,
        isWithin(scope),
      ),
    );
  const spans = rows.flatMap(({ happenedAt, goodAt, account, wallet }) => {
    const at = happenedAt?.getTime() ?? 0;
    const isUnified = wallet === unifiedWallet;
    const good = goodAt?.getTime() ?? at - hourMs;
    const from = epochMs(Math.min(good, at) - bookedMaxMsOf(wallet));
    const to = epochMs(Math.max(good, at) + 1);
    const members = isUnified ? unifiedProductTypes : [wallet as ProductType];
    return members.map((member) => ({ account, productType: member, from, to }));
  });
  const ofLedgers = Map.groupBy(spans, (span) => `${span.productType} ${span.account}`);
  return [...ofLedgers.values()].flatMap((together) =>
    together.slice(0, 1).flatMap((first) => union(together).map((span) => ({ ...first, ...span }))),
  );
}
