import { type Decimal, decimalText, multiply, subtract } from "../export/decimal.ts";
import { type Table, table } from "../output/result.ts";
import { inCents, limited, money, openingTitle } from "./figure-tables.ts";
import type { CostBasis, LedgerMonth, Lot, ReportOptions } from "./month-report.ts";

/** The coins' cost, first in, first out, and the lots that are left. */
export function costTables(ledger: LedgerMonth, options: ReportOptions): readonly Table[] {
  const { allDigits, prices } = options;
  const { costBasis } = ledger;
  const inCurrency = (of: (row: CostBasis) => Decimal, title: string) =>
    ({ kind: "money", title, of: (row: CostBasis) => inCents(of(row), allDigits) }) as const;
  type Row = Lot & { readonly coin: string };
  return [
    table(
      "costBasis",
      {
        coin: {
          ...{ kind: "text", title: `cost, first in, first out, ${prices?.currency}` },
          of: ({ coin }: CostBasis) => coin,
        },
        opening: inCurrency(({ opening }) => opening, openingTitle(ledger)),
        acquired: inCurrency(({ acquired }) => acquired, "acquired"),
        cost: inCurrency(({ cost }) => cost, "spent, at cost"),
        movedOut: inCurrency(({ movedOut }) => movedOut, "moved out, at cost"),
        closing: inCurrency(({ closing }) => closing, "closing"),
        proceeds: inCurrency(({ proceeds }) => proceeds, "spent, worth"),
        gain: inCurrency(({ proceeds, cost }) => subtract(proceeds, cost), "gain"),
        worth: inCurrency(({ worth }) => worth, "closing, worth"),
      },
      costBasis,
    ),
    limited(
      table<Row>(
        "lots",
        {
          coin: { kind: "text", title: "lots of", of: ({ coin }) => coin },
          day: { kind: "text", title: "since", of: ({ day }) => day },
          amount: { kind: "money", of: ({ amount, coin }) => money(amount, coin, allDigits) },
          price: { kind: "amount", of: ({ price }) => decimalText(price) },
          cost: {
            kind: "money",
            of: ({ amount, price }) => inCents(multiply(amount, price), allDigits),
          },
        },
        costBasis.flatMap(({ coin, lots }) => lots.map((lot) => ({ ...lot, coin }))),
      ),
      options,
    ),
  ];
}
