import { type SQL, sql } from "drizzle-orm";
import {
  fundingWallet,
  type ProductType,
  unifiedProductTypes,
  unifiedWallet,
} from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { msOf, textArray, timeOf } from "../../core/postgres/values.ts";
import { readRecorded } from "../../core/store/withdrawals.ts";
import { epochMs, isoTime } from "../../lib/time.ts";
import { FinerAmount, readNumbers } from "./bill-numbers.ts";
import { type ChainRecord, type ChainStart, chainKey } from "./chains.ts";
import { Chain, type ChainBill } from "./check-chain.ts";
import type { Coverage } from "./coverage.ts";
import { movedBy, type Rules, Tallies, type TypeTally, untestable } from "./rules.ts";

type Reading = {
  /** Undefined for all bills of the scope. */
  readonly starts: readonly ChainStart[] | undefined;
  readonly rules: Rules;
  readonly coverage: ReadonlyMap<string, Coverage>;
  readonly records: ReadonlyMap<string, ChainRecord>;
};

export type CheckedChains = {
  readonly chains: readonly Chain[];
  readonly tallies: Tallies;
};

// So many bills are half a megabyte of text. Larger pages are no faster.
const pageBills = 2_000;

/** Streams bills through their chains, with as many decimal places as they have. */
export async function checkChains(
  tx: Transaction,
  account: string,
  reading: Reading,
): Promise<CheckedChains> {
  const recorded = await readRecorded(tx, account);
  for (let decimals = 8; ; ) {
    try {
      return await checkWith(tx, account, { ...reading, recorded }, decimals);
    } catch (error) {
      if (!(error instanceof FinerAmount)) throw error;
      // A unified account's amounts have up to sixteen.
      decimals = Math.max(16, decimals + error.decimals);
      await tx.execute(sql`close audited`);
    }
  }
}

/** @throws FinerAmount */
async function checkWith(
  tx: Transaction,
  account: string,
  {
    starts,
    rules,
    recorded,
    coverage,
    records,
  }: Reading & { readonly recorded: ReadonlySet<string> },
  decimals: number,
): Promise<CheckedChains> {
  const tallies = new Tallies(rules);
  const checked: Chain[] = [];
  for (const isUnifiedWallet of [false, true]) {
    const statement = billsOf(account, { isUnifiedWallet, starts });
    if (statement === undefined) continue;
    const chains = new Map<string, Map<string, Chain>>();
    const chainOf = (wallet: string, coin: string): Chain => {
      const ofWallet = chains.get(wallet) ?? new Map<string, Chain>();
      chains.set(wallet, ofWallet);
      const chain = new Chain({
        wallet,
        coin,
        decimals,
        coverage: coverage.get(wallet),
        earlier: starts && records.get(chainKey({ wallet, coin })),
      });
      ofWallet.set(coin, chain);
      return chain;
    };
    for await (const rows of pagesOf(tx, statement)) {
      for (const row of rows) {
        const [productType, coin] = row;
        const wallet = isUnifiedWallet ? unifiedWallet : productType;
        const chain = chains.get(wallet)?.get(coin) ?? chainOf(wallet, coin);
        chain.add(billOf(row, typeOf(row, tallies, recorded), decimals));
      }
    }
    const ended = [...chains.values()].flatMap((ofWallet) => [...ofWallet.values()]);
    for (const chain of ended) chain.end();
    checked.push(...ended);
  }
  return { chains: checked, tallies };
}

type Row = readonly [
  productType: ProductType,
  coin: string,
  billId: string,
  businessType: string,
  /** The numbers as one text: each column costs Node as much as a bill's arithmetic. */
  numbers: string,
];

/** The type of a bill. A withdrawal from the funding wallet has no fee in its row: without a record, nothing tests it. */
function typeOf(
  [productType, , billId, businessType]: Row,
  tallies: Tallies,
  recorded: ReadonlySet<string>,
): TypeTally {
  const type = tallies.of(productType, businessType);
  const isFeeKnown =
    productType !== fundingWallet || type.category !== "withdrawal" || recorded.has(billId);
  return isFeeKnown ? type : untestable(type);
}

function billOf(row: Row, type: TypeTally, decimals: number): ChainBill {
  const [productType, , billId, , numbers] = row;
  const amounts = readNumbers(numbers, decimals);
  const { time, amount, fee, coupon, balance } = amounts;
  const { countsAmount, countsFee, countsCoupon } = type.rule;
  const isUsual = countsAmount && countsFee && !countsCoupon;
  return {
    productType,
    billId,
    time,
    type,
    amount,
    fee,
    coupon,
    moved: isUsual ? amount + fee : movedBy(type.rule, amounts),
    after: balance,
  };
}

/** The statement that reads the bills of all classic wallets or of the unified one; undefined where none is to be checked. */
function billsOf(
  account: string,
  of: {
    readonly isUnifiedWallet: boolean;
    readonly starts: readonly ChainStart[] | undefined;
  },
): SQL | undefined {
  const starts = of.starts?.filter(
    ({ wallet }) => (wallet === unifiedWallet) === of.isUnifiedWallet,
  );
  if (starts?.length === 0) return undefined;
  const unified = sql`${textArray(unifiedProductTypes)}::text[]`;
  const from =
    starts === undefined
      ? sql`
      from bills
      where bills.account = ${account}
        and bills.product_type ${of.isUnifiedWallet ? sql`= any(${unified})` : sql`<> all(${unified})`}`
      : sql`
      from ${membersOf(starts)}
      join bills
        on bills.account = ${account}
        and bills.product_type = chosen.product_type
        and bills.coin = chosen.coin
        and bills.c_time >= chosen.since
        -- A constant, from which Postgres knows that these are few.
        and bills.c_time >= ${timeOf(Math.min(...starts.map(({ since }) => since)))}`;
  return sql`
      select
        bills.product_type,
        bills.coin,
        bills.bill_id,
        bills.business_type,
        concat_ws(
          ' ', ${msOf(sql`bills.c_time`)}, bills.amount, bills.fee, coalesce(bills.fee_by_coupon, 0), bills.balance
        )
      ${from}
      order by ${of.isUnifiedWallet ? sql`` : sql`bills.product_type,`} bills.c_time`;
}

/** Chains as rows, one for each product type of their wallet. */
function membersOf(starts: readonly ChainStart[]): SQL {
  const members = starts.flatMap((start) =>
    (start.wallet === unifiedWallet ? unifiedProductTypes : [start.wallet]).map((productType) => ({
      ...start,
      productType,
    })),
  );
  return sql`unnest(
        ${textArray(members.map(({ wallet }) => wallet))}::text[],
        ${textArray(members.map(({ productType }) => productType))}::text[],
        ${textArray(members.map(({ coin }) => coin))}::text[],
        ${textArray(members.map(({ since }) => (Number.isFinite(since) ? isoTime(epochMs(since)) : "-infinity")))}::timestamptz[]
      ) as chosen (wallet, product_type, coin, since)`;
}

/** The next page is read while this one is checked. */
async function* pagesOf(tx: Transaction, statement: SQL): AsyncGenerator<readonly Row[]> {
  await tx.execute(sql`declare audited no scroll cursor for ${statement}`);
  const fetch = () => {
    const page = tx.$client.query<[...Row]>({
      text: `fetch ${pageBills} from audited`,
      rowMode: "array",
    });
    page.catch(() => undefined);
    return page;
  };
  for (let page = fetch(); ; ) {
    const { rows } = await page;
    const isLast = rows.length < pageBills;
    if (!isLast) page = fetch();
    if (rows.length > 0) yield rows;
    if (isLast) break;
  }
  await tx.execute(sql`close audited`);
}
