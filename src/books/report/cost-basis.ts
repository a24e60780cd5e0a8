import { sql } from "drizzle-orm";
import { type ProductType, walletOf } from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import { msOf, timeFrom } from "../../core/postgres/values.ts";
import type { Interval } from "../../core/words/intervals.ts";
import {
  add,
  type Decimal,
  decimalOf,
  decimalText,
  isZero,
  magnitude,
  multiply,
  negate,
  subtract,
} from "../../lib/decimal.ts";
import { epochMs } from "../../lib/time.ts";
import { isDollarCoin } from "../../output/format.ts";
import { type Columns, type Table, table } from "../../output/result.ts";
import { readChains } from "../export/chains.ts";
import { balanceChange, type ExportedBill } from "../export/exported-bill.ts";
import { readBillsByTime } from "../export/read-bills.ts";
import { isBillOf, type ReportedWallet } from "../export/reported-wallets.ts";
import type { CostBasis, LedgerClose, Leg, ReportOptions } from "./close-report.ts";
import { inCents, limited, money, openingTitle } from "./figure-tables.ts";
import type { Valuation } from "./figures.ts";
import { type Lot, Lots } from "./lots.ts";

// Cost basis by first in, first out. Not a view: prices are a file, and what a coin cost depends on every movement
// since its first bill, also in the wallets that it came from.

/** What goes elsewhere, is lent back or is margin is not spent. */
const elsewhere: readonly ExportedBill["category"][] = [
  ...["transfer", "deposit", "withdrawal", "margin", "loan"],
] as const;

type Book = Omit<CostBasis, "closingValue"> & { balance: Decimal };

/** A transfer between two wallets of the report. Its lots leave with its first leg, and arrive with the one that receives. */
type Transit = {
  /** The key of the book that sends. */
  readonly sender: string;
  /** Below zero. */
  readonly amount: Decimal;
  lots: readonly Lot[] | undefined;
};

const keyOf = (...names: readonly string[]): string => JSON.stringify(names);
const bookKey = (account: string, productType: string, coin: string): string =>
  keyOf(account, walletOf(productType as ProductType), coin);

/**
 * The cost basis of each coin that has a price and is no dollar, from its first bill to the period's end.
 * @param legs of the transfers from the first bill on.
 */
export async function readCostBasis(
  tx: Transaction,
  wallets: readonly ReportedWallet[],
  span: Interval,
  { valuation, legs }: { readonly valuation: Valuation; readonly legs: readonly Leg[] },
): Promise<readonly CostBasis[]> {
  const books = await openBooks(tx, wallets, span, valuation);
  const transits = transitsOf(legs, books);
  let hasBegun = false;
  const begin = (): void => {
    if (!hasBegun) for (const { lots } of books.values()) lots.begin();
    hasBegun = true;
  };
  const coins = [...new Set([...books.values()].map(({ coin }) => coin))];
  const selection = {
    accounts: wallets.map(({ account }) => account),
    productTypes: wallets.flatMap(({ productTypes }) => productTypes),
    ...{ coins, to: span.to },
  };
  const pages = coins.length === 0 ? [] : readBillsByTime(tx, selection);
  for await (const bills of pages)
    for (const bill of bills) {
      const { account, productType, billId, coin, cTime, category } = bill;
      if (cTime >= span.from) begin();
      const price = valuation.priceAt(coin, cTime);
      const book = books.get(bookKey(account, productType, coin));
      if (price === undefined || book === undefined) continue;
      const at = { day: valuation.dayOf(cTime), price };
      const amount = balanceChange(bill);
      const transit = transits.get(keyOf(account, productType, billId));
      if (transit !== undefined) {
        transit.lots ??= books.get(transit.sender)?.lots.move({ ...at, amount: transit.amount });
        if (amount.units > 0n) for (const lot of transit.lots ?? []) book.lots.move(lot);
        // Its fee stays with the exchange.
        book.lots.spend({ ...at, amount: decimalOf(bill.walletFee) });
      } else if (amount.units < 0n && !elsewhere.includes(category))
        book.lots.spend({ ...at, amount });
      else book.lots.move({ ...at, amount });
      const sum = add(book.balance, amount);
      book.balance = bill.balance === null ? sum : decimalOf(bill.balance);
      // What no bill explains is neither earned nor spent.
      book.lots.move({ ...at, amount: subtract(book.balance, sum) });
    }
  begin();
  return [...books.values()].flatMap((book) => {
    const price = valuation.priceAt(book.coin, epochMs(span.to - 1));
    // With one price missing, no lots of the coin can be trusted.
    return price === undefined || valuation.missing.has(book.coin)
      ? []
      : [{ ...book, closingValue: multiply(book.balance, price) }];
  });
}

/**
 * The coins of each wallet, with what it held before its first bill, at the price of that bill's day. A coin of which no bill
 * shows a balance is left out.
 */
async function openBooks(
  tx: Transaction,
  wallets: readonly ReportedWallet[],
  { to }: Interval,
  valuation: Valuation,
): Promise<ReadonlyMap<string, Book>> {
  const { prices, dayOf } = valuation;
  const books = new Map<string, Book>();
  for (const wallet of wallets) {
    const { rows } = await tx.execute<{ coin: string; first: string }>(sql`
      select coin, ${msOf(sql`min(c_time)`)} as first
      from bills
      where ${isBillOf(wallet)}
      group by coin`);
    const firstBills = new Map(rows.map(({ coin, first }) => [coin, timeFrom(first)]));
    for (const { coin, opening } of await readChains(tx, wallet, { from: epochMs(0), to })) {
      const first = firstBills.get(coin);
      if (opening === null || first === undefined) continue;
      const amount = decimalOf(opening);
      const isHeld = first < to || !isZero(amount);
      if (!isHeld || isDollarCoin(coin) || coin === prices.currency) continue;
      const [day, price] = [dayOf(first), valuation.priceAt(coin, first)];
      if (price === undefined) continue;
      const lots = new Lots();
      lots.move({ day, amount, price });
      const pricedOn = prices.of(coin, day)?.day ?? day;
      books.set(bookKey(wallet.account, wallet.productType, coin), {
        ...{ wallet, coin, lots, balance: amount, before: { day, amount, pricedOn } },
      });
    }
  }
  return books;
}

/** The transfers between two books, by each of their legs. */
function transitsOf(
  legs: readonly Leg[],
  books: ReadonlyMap<string, Book>,
): ReadonlyMap<string, Transit> {
  const transits = new Map<string, Transit>();
  for (const leg of legs) {
    const { account, productType, billId, coin, otherAccount, otherProductType, otherBillId } = leg;
    if (otherAccount === null || otherProductType === null || otherBillId === null) continue;
    const here = bookKey(account, productType, coin);
    const there = bookKey(otherAccount, otherProductType, coin);
    if (!books.has(here) || !books.has(there)) continue;
    const sender = leg.amount.startsWith("-") ? here : there;
    const amount = negate(magnitude(decimalOf(leg.amount)));
    const transit = transits.get(keyOf(otherAccount, otherProductType, otherBillId));
    transits.set(
      keyOf(account, productType, billId),
      transit ?? { sender, amount, lots: undefined },
    );
  }
  return transits;
}

/** The coins' cost, first in, first out, and the lots that are left. */
export function costParts(
  ledger: LedgerClose,
  options: ReportOptions,
): readonly (string | Table)[] {
  const { allDigits, prices } = options;
  const inCurrency = (title: string, of: (row: CostBasis) => Decimal) =>
    ({ kind: "money", title, of: (row: CostBasis) => inCents(of(row), allDigits) }) as const;
  const columns: Columns<CostBasis> = {
    coin: {
      ...{ kind: "text", title: `cost, first in, first out, ${prices?.currency}` },
      of: ({ coin }) => coin,
    },
    openingCost: inCurrency(openingTitle(ledger), ({ lots }) => lots.openingCost),
    acquiredCost: inCurrency("acquired", ({ lots }) => lots.acquiredCost),
    spentCost: inCurrency("spent, at cost", ({ lots }) => lots.spentCost),
    movedOutCost: inCurrency("moved out, at cost", ({ lots }) => lots.movedOutCost),
    closingCost: inCurrency("closing", ({ lots }) => lots.closingCost),
    spentValue: inCurrency("spent, worth", ({ lots }) => lots.spentValue),
    gain: inCurrency("gain", ({ lots }) => subtract(lots.spentValue, lots.spentCost)),
    closingValue: inCurrency("closing, worth", ({ closingValue }) => closingValue),
    firstBillOn: { kind: "text", title: "", of: ({ before }) => before.day },
    pricedOn: { kind: "text", title: "", of: ({ before }) => before.pricedOn },
  };
  type LotRow = Lot & { readonly coin: string };
  const lotColumns: Columns<LotRow> = {
    coin: { kind: "text", title: "lots of", of: ({ coin }) => coin },
    day: { kind: "text", title: "since", of: ({ day }) => day },
    amount: { kind: "money", of: ({ amount, coin }) => money(amount, coin, allDigits) },
    price: { kind: "amount", of: ({ price }) => decimalText(price) },
    cost: {
      kind: "money",
      of: ({ amount, price }) => inCents(multiply(amount, price), allDigits),
    },
  };
  const rows = ledger.costBasis;
  const lotRows = rows.flatMap(({ coin, lots }) => lots.all.map((lot) => ({ ...lot, coin })));
  const earlier = rows.filter(({ before }) => !isZero(before.amount));
  return [
    table("costBasis", columns, rows),
    ...earlier.map(
      ({ coin, before: { day, amount, pricedOn } }) =>
        `${money(amount, coin, allDigits)?.shown} ${coin} were there before the first bill, of ${day}; nobody knows what they had cost, and the price of ${pricedOn} is taken for it`,
    ),
    limited(table("lots", lotColumns, lotRows), options),
  ];
}
