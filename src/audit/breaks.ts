import { type SQL, sql } from "drizzle-orm";
import type { Queryable, Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { timeText } from "../db/sql/time-text.ts";
import { walletOf } from "../db/sql/wallet.ts";
import { type ChainStart, membersOf } from "./read-chains.ts";
import { type AccountScope, within } from "./scope.ts";

/** What can be wrong with a ledger. */
export const breakKinds = {
  chain: "a balance is not the one before it plus its bill",
  balance: "one balance is off, and the next is right again",
  duplicate: "a bill is there twice, under two ids",
  "fee-sign": "a fee counts with the wrong sign",
  rounding: "off by one unit in the last place, where the ledger is otherwise exact",
  unread: "a balance does not follow, next to time that was not read",
  transfer: "the two legs of a transfer are of different amounts",
  "ltv-assets": "the collateral does not add up to the assets",
  "ltv-ratio": "the ratio is not debt by assets",
  "ltv-haircut": "collateral counts for more than it is worth, or for less than nothing",
  deleted: "bills that were stored are no longer there",
  restatement: "stored bills were served again with other content since the last sign-off",
  quarantine: "rows were rejected since the last sign-off",
} as const;

export type BreakKind = keyof typeof breakKinds;

/** The kinds of which a sign-off leaves something that does not add up: amounts of bills and balances. */
export const amountKinds: readonly BreakKind[] = [
  "chain",
  "balance",
  "duplicate",
  "fee-sign",
  "rounding",
  "unread",
  "transfer",
];

/** One place where the ledger does not add up. Amounts are decimals as text. */
export type FoundBreak = {
  readonly kind: BreakKind;
  readonly account: string;
  /** The wallet where a balance is off, "UTA" in a unified account. Empty where no product type is meant. */
  readonly productType: string;
  readonly coin: string;
  /** Where the break is: a bill's id, a day or a snapshot's time. Identifies it, with the fields above. */
  readonly anchor: string;
  /** ISO 8601. */
  readonly happenedAt: string | null;
  readonly expected: string | null;
  readonly observed: string | null;
  readonly difference: string | null;
  readonly firstBadBill: string | null;
  /** The bill's product type where it differs from the break's: a wallet's bills may have several. */
  readonly firstBadProductType: string | null;
  readonly lastGoodBill: string | null;
  readonly lastGoodProductType: string | null;
  readonly explanation: string;
};

export type BreakState = "open" | "explained" | "resolved";

export type Break = FoundBreak & {
  readonly breakId: number;
  readonly firstSeenAt: string;
  readonly state: BreakState;
  readonly note: string | null;
};

// Without the account, which all of them share.
const columns: readonly (keyof FoundBreak)[] = [
  "kind",
  "productType",
  "coin",
  "anchor",
  "happenedAt",
  "expected",
  "observed",
  "difference",
  "firstBadBill",
  "firstBadProductType",
  "lastGoodBill",
  "lastGoodProductType",
  "explanation",
];

const snakeCase = (name: string) =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const names = sql.raw(columns.map(snakeCase).join(", "));

/**
 * Stores the breaks that were found. A known break keeps its number, its first time and its note. One that was
 * signed off is reopened where its difference has changed. A new one gets the next number of a sequence that all
 * accounts share.
 * @returns the breaks' numbers.
 */
export async function recordFound(
  tx: Transaction,
  { account }: AccountScope,
  found: readonly FoundBreak[],
): Promise<readonly string[]> {
  if (found.length === 0) return [];
  const { rows: known } = await tx.execute<{ break_id: string | null }>(sql`
    select known.break_id
    from ${rowsOf(found)}
    left join ledger_breaks as known
      on ${isSame(account)}
    order by place`);
  const { rows: unused } = await tx.execute<{ id: string }>(sql`
    select nextval('public.ledger_break_ids') as id
    from generate_series(1, ${known.filter(({ break_id }) => break_id === null).length}::int)`);
  const foundIds = known.map(
    ({ break_id }) => break_id ?? onlyRow(unused.splice(0, 1), "a new break's number").id,
  );
  await noteReopened(tx, account, found);
  await tx.execute(sql`
    insert into ledger_breaks (
      account, break_id, ${names}, first_seen_at, last_seen_at, state
    )
    select
      ${account}, break_id, ${names}, transaction_timestamp(), transaction_timestamp(), 'open'
    from ${rowsOf(found)}
    join unnest(${textArray(foundIds)}::bigint[]) with ordinality as numbered (break_id, place)
      using (place)
    on conflict (account, product_type, coin, kind, anchor) do update
    set
      happened_at = excluded.happened_at,
      expected = excluded.expected,
      observed = excluded.observed,
      difference = excluded.difference,
      first_bad_bill = excluded.first_bad_bill,
      first_bad_product_type = excluded.first_bad_product_type,
      last_good_bill = excluded.last_good_bill,
      last_good_product_type = excluded.last_good_product_type,
      explanation = excluded.explanation,
      last_seen_at = excluded.last_seen_at,
      state = case
        when ledger_breaks.state = 'explained'
          and ledger_breaks.difference is not distinct from excluded.difference
        then 'explained'
        else 'open'
      end,
      resolved_at = null`);
  return foundIds;
}

const types: Partial<Record<keyof FoundBreak, string>> = {
  happenedAt: "timestamptz",
  expected: "numeric",
  observed: "numeric",
  difference: "numeric",
};

/** The breaks as rows, numbered from 1 by `place`. */
const rowsOf = (found: readonly FoundBreak[]): SQL => sql`unnest(
      ${sql.join(
        columns.map(
          (name) =>
            sql`${textArray(found.map((entry) => entry[name]))}::${sql.raw(types[name] ?? "text")}[]`,
        ),
        sql`, `,
      )}
    ) with ordinality as found (${names}, place)`;

const isSame = (account: string): SQL => sql`known.account = ${account}
      and known.product_type = found.product_type
      and known.coin = found.coin
      and known.kind = found.kind
      and known.anchor = found.anchor`;

/** Logs that breaks were reopened by the program because their difference has changed. */
async function noteReopened(
  tx: Transaction,
  account: string,
  found: readonly FoundBreak[],
): Promise<void> {
  await tx.execute(sql`
    insert into break_decisions (account, break_id, place, decision, decided_at, note, difference)
    select
      known.account,
      known.break_id,
      (
        select count(*) + 1
        from break_decisions as earlier
        where earlier.account = ${account}
          and earlier.break_id = known.break_id
      ),
      'reopened',
      transaction_timestamp(),
      'its difference was ' || coalesce(known.difference::text, 'unknown') || ' when it was signed off',
      found.difference
    from ${rowsOf(found)}
    join ledger_breaks as known
      on ${isSame(account)}
    where known.state = 'explained'
      and known.difference is distinct from found.difference`);
}

export type Resolvable = {
  /** The breaks that were found. */
  readonly foundIds: readonly string[];
  /** Where the check began in each chain; undefined where all bills were checked. */
  readonly starts: readonly ChainStart[] | undefined;
  /** Whether the legs of transfers were compared. */
  readonly areLegsCompared: boolean;
};

/**
 * Resolves open breaks that this check would have found, and did not find again. That rows disappeared is
 * found once, so its break stays until somebody accepts it.
 * @returns the resolved breaks' numbers.
 */
export async function resolveUnfound(
  tx: Transaction,
  { account, productTypes }: AccountScope,
  { foundIds, starts, areLegsCompared }: Resolvable,
): Promise<readonly string[]> {
  const wasChecked =
    starts === undefined
      ? sql`true`
      : sql`(
          coin = ''
          or kind = 'transfer' and ${areLegsCompared}
          or kind like 'ltv-%'
          or exists (
            select 1
            from ${membersOf(starts)}
            where chosen.wallet = ${walletOf("ledger_breaks.product_type")}
              and chosen.coin = ledger_breaks.coin
              and chosen.since < ledger_breaks.happened_at
          )
        )`;
  const { rows } = await tx.execute<{ break_id: string }>(sql`
    update ledger_breaks
    set state = 'resolved', resolved_at = statement_timestamp()
    where state = 'open'
      and kind <> ${"deleted" satisfies BreakKind}
      and not break_id = any(${textArray(foundIds)}::bigint[])
      and account = ${account}
      and (product_type = '' or ${within("product_type", productTypes)})
      and ${wasChecked}
    returning break_id`);
  return rows.map(({ break_id }) => break_id);
}

/** The columns of a {@link Break}, with the types of its fields except for its number. */
export const breakText = sql`
      break_id::text as "breakId",
      kind,
      account,
      product_type as "productType",
      coin,
      anchor,
      ${timeText(sql`happened_at`)} as "happenedAt",
      expected::text,
      observed::text,
      difference::text,
      first_bad_bill as "firstBadBill",
      first_bad_product_type as "firstBadProductType",
      last_good_bill as "lastGoodBill",
      last_good_product_type as "lastGoodProductType",
      explanation,
      ${timeText(sql`first_seen_at`)} as "firstSeenAt",
      state,
      note`;

/** The open breaks, oldest first. */
export async function readOpenBreaks(
  tx: Queryable,
  { account, productTypes }: AccountScope,
): Promise<readonly Break[]> {
  const { rows } = await tx.execute<Break & { readonly breakId: string }>(sql`
    select
      ${breakText}
    from ledger_breaks
    where state = 'open'
      and account = ${account}
      and (product_type = '' or ${within("product_type", productTypes)})
    order by account, product_type, coin, happened_at, break_id`);
  return rows.map((row) => ({ ...row, breakId: Number(row.breakId) }));
}
