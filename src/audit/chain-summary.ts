import { sql } from "drizzle-orm";
import { walletOf } from "../contract/product-types.ts";
import { dayMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import type { Break } from "./breaks.ts";
import type { Chain } from "./check-chain.ts";
import { type Coverage, isDayRead, periodsText } from "./coverage.ts";
import { decimalText } from "./decimals.ts";
import { chainKey } from "./read-chains.ts";
import { type AccountScope, timeOf, within } from "./scope.ts";

/** The result of checking one chain: an account, a wallet and a coin. */
export type ChainSummary = {
  readonly account: string;
  /** The wallet; "UTA" in a unified account. */
  readonly productType: string;
  readonly coin: string;
  readonly bills: number;
  /** Bills whose balance could be computed. */
  readonly tested: number;
  /** How many of them are off by one unit in the last place; below, the sum of these differences. */
  readonly rounded: number;
  readonly rounding: string;
  /** UTC days with bills: reconciled, not completely read, with an open break. */
  readonly days: {
    readonly reconciled: number;
    readonly incomplete: number;
    readonly broken: number;
  };
};

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const inNames = (a: Chain, b: Chain): number =>
  compare(a.wallet, b.wallet) || compare(a.coin, b.coin);

/** What a check found in its chains, in the order of their names. */
export function summariesOf(
  account: string,
  chains: readonly Chain[],
  {
    places,
    coverage,
    breaks,
  }: {
    readonly places: number;
    readonly coverage: ReadonlyMap<string, Coverage>;
    readonly breaks: readonly Break[];
  },
): readonly ChainSummary[] {
  const dayKey = (wallet: string, coin: string, day: number) => JSON.stringify([wallet, coin, day]);
  const broken = new Set(
    breaks.flatMap(({ productType, coin, happenedAt }) =>
      happenedAt === null
        ? []
        : [dayKey(walletOf(productType), coin, Math.floor(Date.parse(happenedAt) / dayMs))],
    ),
  );
  return chains.toSorted(inNames).map((chain) => {
    const { wallet, coin, bills, tested, rounded } = chain;
    const read = coverage.get(wallet)?.read ?? [];
    const whole = [...chain.days].filter((day) => !broken.has(dayKey(wallet, coin, day)));
    const reconciled = whole.filter((day) => isDayRead(read, day)).length;
    return {
      account,
      productType: wallet,
      coin,
      bills,
      tested,
      rounded,
      rounding: decimalText(chain.rounding, places, chain.roundingPlaces),
      days: {
        reconciled,
        incomplete: whole.length - reconciled,
        broken: chain.days.size - whole.length,
      },
    };
  });
}

/** What the last whole check found of a chain. */
export type KnownChain = { readonly tested: number; readonly rounded: number };

export async function readKnownChains(
  tx: Transaction,
  { account, productTypes }: AccountScope,
): Promise<ReadonlyMap<string, KnownChain>> {
  const { rows } = await tx.execute<Record<"wallet" | "coin" | "tested" | "rounded", string>>(sql`
    select product_type as wallet, coin, tested, rounded
    from reconciled_chains
    where account = ${account}
      and ${within("product_type", productTypes)}`);
  return new Map(
    rows.map((row) => [
      chainKey(row),
      { tested: Number(row.tested), rounded: Number(row.rounded) },
    ]),
  );
}

/**
 * Stores how far each chain was checked, so that the next check begins there, and when: also of those in which
 * nothing changed, since the next check looks for bills that were stored since the first of these times. The counts
 * are those of the last whole check: the ranges of partial checks overlap, so their counts cannot be added up.
 */
export async function writeChains(
  tx: Transaction,
  { account, productTypes }: AccountScope,
  chains: readonly Chain[],
  {
    isWhole,
    coverage,
  }: { readonly isWhole: boolean; readonly coverage: ReadonlyMap<string, Coverage> },
): Promise<void> {
  const column = (textIn: (chain: Chain) => string | null) => textArray(chains.map(textIn));
  await tx.execute(sql`
    insert into reconciled_chains (
      account, product_type, coin, ingested_before, unjudged_from, tested, rounded
    )
    select ${account}, wallet, coin, transaction_timestamp(), unjudged_from, tested, rounded
    from unnest(
      ${column(({ wallet }) => wallet)}::text[],
      ${column(({ coin }) => coin)}::text[],
      ${column(({ unjudgedFrom }) => (unjudgedFrom === undefined ? null : timeOf(unjudgedFrom)))}::timestamptz[],
      ${column(({ tested }) => String(tested))}::bigint[],
      ${column(({ rounded }) => String(rounded))}::bigint[]
    ) as checked (wallet, coin, unjudged_from, tested, rounded)
    on conflict (account, product_type, coin) do update
    set
      unjudged_from = excluded.unjudged_from,
      tested = case when ${isWhole} then excluded.tested else reconciled_chains.tested end,
      rounded = case when ${isWhole} then excluded.rounded else reconciled_chains.rounded end`);
  const wallets = [...coverage.values()];
  const settled = wallets.filter(({ settledTo }) => settledTo < Number.POSITIVE_INFINITY);
  await tx.execute(sql`
    update reconciled_chains
    set
      ingested_before = transaction_timestamp(),
      reconciled_at = transaction_timestamp(),
      reconciled_through = (
        select settled_to
        from unnest(
          ${textArray(settled.map(({ wallet }) => wallet))}::text[],
          ${textArray(settled.map(({ settledTo }) => timeOf(settledTo)))}::timestamptz[]
        ) as settled (wallet, settled_to)
        where wallet = product_type
      ),
      covered = coalesce(
        (
          select read
          from unnest(
            ${textArray(wallets.map(({ wallet }) => wallet))}::text[],
            ${textArray(wallets.map(({ read }) => periodsText(read)))}::tstzmultirange[]
          ) as covered (wallet, read)
          where wallet = product_type
        ),
        '{}'
      )
    where account = ${account}
      and ${within("product_type", productTypes)}`);
}
