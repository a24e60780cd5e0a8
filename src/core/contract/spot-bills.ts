import { z } from "zod";
import { type EpochMs, epochMs, retentionMs, secondMs } from "../../lib/time.ts";
import { billRows, noPosition } from "./bill.ts";
import { groupedType } from "./business-types.ts";
import { type Operation, spanAtMost, spanParameters } from "./operation.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";

const query = z
  .strictObject({
    coin: z.string().optional(),
    ...spanParameters(500),
    /** A bill's id: the bills older than it are asked for. */
    idLessThan: z.string().optional(),
  })
  .refine(...spanAtMost(retentionMs));

/** Get Account Bills of the spot wallet: the last 90 days, newest first. The data is the list itself. */
export const spotBills = {
  name: "spot bills",
  path: "/api/v2/spot/account/bills",
  access: "signed",
  query,
  // Without an id to go on from: the last row's is taken.
  data: z
    .array(z.unknown())
    .nullable()
    .transform((rows) => ({ rows: rows ?? [], endId: spotRows.idOf(rows?.at(-1)) })),
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

/** The fields of a bill. `size` is signed; whether it contains `fees` is learned from balances. */
const spotBillFields = {
  billId: text,
  coin: text,
  groupType: optionalText,
  businessType: optionalText,
  size: decimal,
  fees: decimal,
  balance: optionalDecimal,
  cTime: epochMsText,
};

// Until the year 2286, a time in seconds has ten digits, and one in milliseconds has had 12 since 1973.
const timeOf = (text: string): EpochMs =>
  epochMs(Number(text) * (text.length <= 10 ? secondMs : 1));

/** A coin of the spot wallet. The exchange's own example has one in lower case; "rTOWN" and the like are names of their own. */
export const spotCoin = (coin: string): string =>
  coin === coin.toLowerCase() ? coin.toUpperCase() : coin;

/**
 * The rows of the spot wallet. A time in seconds and a coin in lower case, as in the exchange's own example, are kept in
 * `extra` as they came.
 */
export const spotRows = billRows(
  spotBillFields,
  { id: "billId", time: "cTime" },
  (row) => {
    const { billId, groupType, businessType, size, fees, balance, ...values } = row;
    const cTime = timeOf(values.cTime);
    const coin = spotCoin(values.coin);
    const respelled = {
      ...(coin === values.coin ? {} : { coin: values.coin }),
      ...(cTime === Number(values.cTime) ? {} : { cTime: values.cTime }),
    };
    const extra = { ...values.extra, ...respelled };
    return {
      bill: {
        billId,
        symbol: null,
        amount: size,
        fee: fees,
        feeByCoupon: null,
        businessType: groupedType(groupType, businessType),
        coin,
        balance,
        cTime,
        ...noPosition,
        extra: Object.keys(extra).length === 0 ? null : extra,
      },
    };
  },
  timeOf,
);
