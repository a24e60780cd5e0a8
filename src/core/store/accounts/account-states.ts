import { sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../../../lib/time.ts";
import { type ProductType, productTypes, unifiedWallet } from "../../contract/product-types.ts";
import type { Queryable, Transaction } from "../../postgres/connect.ts";
import { isOneOf, msOf, textArray, timeFrom } from "../../postgres/values.ts";
import {
  type AccountMode,
  type AccountState,
  type Availability,
  modeOf,
} from "../../words/account-state.ts";

/** What the exchange told past runs about an account, and what its user decided. */
export type StoredState = AccountState & {
  /** The product types that a run has planned to read. */
  readonly stored: readonly ProductType[];
  /** The product types that are no longer synced; "" is the whole account. Their history stays. */
  readonly retired: ReadonlyMap<ProductType | "", EpochMs>;
};

/** Since when a product type is retired, by itself or with its account; undefined where it is not. */
export const retiredSince = ({ retired }: StoredState, productType: string): EpochMs | undefined =>
  retired.get("") ?? retired.get(productType as ProductType);

type Row = {
  account: string;
  product_type: ProductType | "";
  mode: AccountMode | null;
  mode_since: string | null;
  not_available_since: string | null;
  not_available_asked_at: string | null;
  not_available_reason: string | null;
  ended_at: string | null;
  retired_at: string | null;
  balances_refused_at: string | null;
  withdrawals_refused_at: string | null;
  is_stored: boolean;
};

const noState: StoredState = {
  ...{ mode: undefined, notAvailable: [], ended: [] },
  ...{ stored: [], retired: new Map() },
};

export type AccountStates = {
  /** Those that have a state, in the order of their names. */
  readonly accounts: readonly string[];
  readonly of: (account: string) => StoredState;
};

/** The states before the first migration: nothing is known of any account. */
export const noStates: AccountStates = { accounts: [], of: () => noState };

export const readAccountState = async (db: Queryable, account: string): Promise<StoredState> =>
  (await readAccountStates(db, [account])).of(account);

/** Reads the states of all accounts, or of some. */
export async function readAccountStates(
  db: Queryable,
  accounts?: readonly string[],
): Promise<AccountStates> {
  const { rows } = await db.execute<Row>(sql`
    select
      account,
      product_type,
      mode,
      ${msOf(sql`mode_since`)} as mode_since,
      ${msOf(sql`not_available_since`)} as not_available_since,
      ${msOf(sql`not_available_asked_at`)} as not_available_asked_at,
      not_available_reason,
      ${msOf(sql`ended_at`)} as ended_at,
      ${msOf(sql`retired_at`)} as retired_at,
      ${msOf(sql`balances_refused_at`)} as balances_refused_at,
      ${msOf(sql`withdrawals_refused_at`)} as withdrawals_refused_at,
      first_unread_at is not null as is_stored
    from ledgers
    where ${isOneOf(accounts)}
    order by account, product_type`);
  const states = new Map(
    [...Map.groupBy(rows, (row) => row.account)].map(([name, own]) => [name, stateOf(own)]),
  );
  return { accounts: [...states.keys()], of: (name) => states.get(name) ?? noState };
}

function stateOf(rows: readonly Row[]): StoredState {
  const whole = rows.find(({ product_type }) => product_type === "");
  const { mode = null, mode_since = null } = whole ?? {};
  return {
    stored: rows.flatMap(({ product_type, is_stored }) =>
      product_type !== "" && is_stored ? [product_type] : [],
    ),
    balancesRefusedAt: new Map(
      rows.flatMap(({ product_type, balances_refused_at }) =>
        balances_refused_at === null
          ? []
          : [[product_type || unifiedWallet, timeFrom(balances_refused_at)]],
      ),
    ),
    withdrawalsRefusedAt: timeFrom(whole?.withdrawals_refused_at ?? null),
    retired: new Map(
      rows.flatMap(({ product_type, retired_at }) =>
        retired_at === null ? [] : [[product_type, timeFrom(retired_at)]],
      ),
    ),
    mode:
      mode === null || mode_since === null
        ? undefined
        : { name: mode, since: timeFrom(mode_since) },
    notAvailable: rows.flatMap((row) => {
      const { product_type, not_available_since: since, not_available_asked_at: askedAt } = row;
      if (product_type === "" || since === null || askedAt === null) return [];
      const reason = row.not_available_reason ?? "";
      return [
        { productType: product_type, since: timeFrom(since), askedAt: timeFrom(askedAt), reason },
      ];
    }),
    ended: rows.flatMap(({ product_type, ended_at }) =>
      product_type === "" || ended_at === null
        ? []
        : [{ productType: product_type, endedAt: timeFrom(ended_at) }],
    ),
  };
}

/** Records which product types the exchange refused to an account's key, and which it granted. */
export async function recordAvailability(
  tx: Transaction,
  account: string,
  { refused, answered, askedAt }: Availability,
): Promise<void> {
  const column = (pick: (one: Availability["refused"][number]) => string) =>
    textArray(refused.map(pick));
  await tx.execute(sql`
    insert into ledgers as known (
      account, product_type, not_available_since, not_available_asked_at, not_available_reason
    )
    select ${account}, product_type, asked_at, asked_at, reason
    from unnest(
      ${column(({ productType }) => productType)}::text[],
      ${column(({ reason }) => reason)}::text[]
    ) as refused (product_type, reason)
    cross join (select ${isoTime(askedAt)}::timestamptz as asked_at) as asked
    on conflict (account, product_type) do update
    set
      not_available_since = coalesce(known.not_available_since, excluded.not_available_since),
      not_available_asked_at = excluded.not_available_asked_at,
      not_available_reason = excluded.not_available_reason`);
  await tx.execute(sql`
    update ledgers
    set
      not_available_since = null,
      not_available_asked_at = null,
      not_available_reason = null
    where account = ${account}
      and product_type = any(${textArray(answered)}::text[])
      and not_available_since is not null`);
}

/**
 * @param productType of the ledger, or none for the whole account.
 * @param at the exchange's time; undefined where it is no longer refused.
 */
export async function recordRefused(
  tx: Transaction,
  { account, productType }: { readonly account: string; readonly productType: string },
  column: "balances_refused_at" | "withdrawals_refused_at",
  at: EpochMs | undefined,
): Promise<void> {
  const refusedAt = sql.identifier(column);
  await tx.execute(sql`
    insert into ledgers (account, product_type, ${refusedAt})
    values (${account}, ${productType}, ${at === undefined ? null : isoTime(at)})
    on conflict (account, product_type) do update
    set ${refusedAt} = excluded.${refusedAt}`);
}

/**
 * Records an account's mode. Ledgers of the other mode that were synced end, and ledgers of this
 * mode are opened again. Their bills and windows stay as they are.
 * @param at the exchange's time.
 */
export async function endLedgersOfOtherMode(
  tx: Transaction,
  account: string,
  mode: AccountMode,
  at: EpochMs,
): Promise<void> {
  const served = textArray(productTypes.filter((productType) => modeOf(productType) === mode));
  await tx.execute(sql`
    insert into ledgers as known (account, product_type, mode, mode_since)
    values (${account}, '', ${mode}, ${isoTime(at)})
    on conflict (account, product_type) do update
    set
      mode = excluded.mode,
      mode_since = excluded.mode_since
    where known.mode is distinct from excluded.mode`);
  await tx.execute(sql`
    update ledgers
    set ended_at = null
    where account = ${account}
      and product_type = any(${served}::text[])
      and ended_at is not null`);
  await tx.execute(sql`
    update ledgers
    set ended_at = ${isoTime(at)}
    where account = ${account}
      and first_unread_at is not null
      and product_type <> all(${served}::text[])
      and ended_at is null`);
}
