// Every documented field has a column.

import { getTableColumns } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import { billFields } from "../src/contract/bill.ts";
import { contractFields } from "../src/contract/contracts.ts";
import { collateralFields, debtFields, loanToValueFields } from "../src/contract/loan-to-value.ts";
import { symbolFields } from "../src/contract/symbols.ts";
import { tables } from "../src/db/schema/tables.ts";

type Mapped = readonly [name: string, fields: object, tables: readonly PgTable[], wire: string];

/** The fields in the order of the API's documentation, and the tables that hold them. */
const records: readonly Mapped[] = [
  [
    "bill",
    billFields,
    [tables.bills, tables.billRevisions],
    "billId symbol amount fee feeByCoupon businessType coin balance cTime",
  ],
  [
    "symbol",
    symbolFields,
    [tables.spotPairs, tables.spotPairVersions],
    `symbol baseCoin quoteCoin minTradeAmount maxTradeAmount takerFeeRate makerFeeRate
     pricePrecision quantityPrecision quotePrecision minTradeUSDT status buyLimitPriceRatio
     sellLimitPriceRatio areaSymbol orderQuantity openTime offTime`,
  ],
  [
    "contract",
    contractFields,
    [tables.contracts, tables.contractVersions],
    `symbol baseCoin quoteCoin buyLimitPriceRatio sellLimitPriceRatio feeRateUpRatio makerFeeRate
     takerFeeRate openCostUpRatio supportMarginCoins minTradeNum priceEndStep volumePlace pricePlace
     sizeMultiplier symbolType minTradeUSDT maxSymbolOrderNum maxProductOrderNum maxPositionNum
     symbolStatus offTime limitOpenTime deliveryTime deliveryStartTime deliveryPeriod launchTime
     fundInterval minLever maxLever posLimit maintainTime openTime maxMarketOrderQty maxOrderQty`,
  ],
  ["debt", debtFields, [tables.ltvDebts], "coin unpaidQty unpaidInterest"],
  ["collateral", collateralFields, [tables.ltvCollateral], "coin price amount convertedUsdtAmount"],
];

const snakeCase = (field: string): string =>
  field.replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`);

/** The column of a field in a table, and whether it holds text, a number or a time. */
const columnsOf = (table: PgTable, fields: readonly string[]) =>
  fields.map((field) => getTableColumns(table)[field]?.name);

test.each(records)("every field of a %s has a column of its own, named after it", (...given) => {
  const [, fields, storedIn, wire] = given;
  const documented = wire.split(/\s+/);
  expect(Object.keys(fields).toSorted()).toEqual(documented.toSorted());
  for (const table of storedIn) {
    expect(columnsOf(table, documented)).toEqual(documented.map(snakeCase));
    expect(columnsOf(table, ["extra"])).toEqual(["extra"]);
  }
});

test("every field of a loan-to-value record has a column, or is a list with a table of its own", () => {
  const lists = ["unpaidInfo", "balanceInfo"];
  const documented = ["ltv", "subAccountUids", "usdtBalance", "unpaidUsdtAmount"];
  expect(Object.keys(loanToValueFields).toSorted()).toEqual([...documented, ...lists].toSorted());
  expect(columnsOf(tables.ltvSnapshots, documented)).toEqual(documented.map(snakeCase));
  expect(columnsOf(tables.ltvSnapshots, ["extra"])).toEqual(["extra"]);
});
