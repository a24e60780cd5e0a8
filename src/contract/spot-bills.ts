import { z } from "zod";
import type { BillReading } from "./bill.ts";
import { noPosition } from "./bill.ts";
import { groupedType } from "./business-types.ts";
import type { Operation } from "./operation.ts";
import { readRow } from "./row.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";
import { type EpochMs, epochMs, historyMs, secondMs } from "./time.ts";

const query = z
  .strictObject({
    coin: z.string().optional(),
    startTime: epochMsText.optional(),
    endTime: epochMsText.optional(),
    limit: z
      .string()
      .regex(/^\d{1,3}$/)
      .refine((size) => Number(size) >= 1 && Number(size) <= 500, "is not 1 to 500")
      .optional(),
    /** A bill's id: the bills older than it are asked for. */
    idLessThan: z.string().optional(),
  })
  .refine(
    ({ startTime, endTime }) => {
      if (startTime === undefined || endTime === undefined) return true;
      const spanMs = Number(endTime) - Number(startTime);
      return spanMs >= 0 && spanMs <= historyMs;
    },
    { path: ["endTime"], error: "is before startTime or more than 90 days after it" },
  );

/** Get Account Bills of the spot wallet: the last 90 days, newest first. The data is the list itself. */
export const spotBills = {
  name: "spot bills",
  method: "GET",
  path: "/api/v2/spot/account/bills",
  access: "signed",
  query,
  // Without an id to go on from: the last row's is taken.
  data: z
    .array(z.unknown())
    .nullable()
    .transform((rows) => ({ rows: rows ?? [], endId: spotBillIdOf(rows?.at(-1)) })),
  limit: { requests: 10, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;

/** The fields of a bill. `size` is signed; whether it contains `fees` is learned from balances. */
export const spotBillFields = {
  billId: text,
  coin: text,
  groupType: optionalText,
  businessType: optionalText,
  size: decimal,
  fees: decimal,
  balance: optionalDecimal,
  cTime: epochMsText,
};

const row = z.object(spotBillFields);

/**
 * Reads one row of a page. Never throws: for a row that breaks the contract it returns the fault. A time in seconds
 * and a coin in lower case, as in the exchange's own example, are kept in `extra` as they came.
 */
export function readSpotBill(given: unknown): BillReading {
  const reading = readRow(spotBillFields, row, given);
  if ("fault" in reading) return reading;
  const { billId, groupType, businessType, size, fees, balance, ...values } = reading.values;
  const cTime = timeOf(values.cTime);
  const coin = values.coin === values.coin.toLowerCase() ? values.coin.toUpperCase() : values.coin;
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
}

// Until the year 2286, a time in seconds has ten digits, and one in milliseconds has had 12 since 1973.
const timeOf = (text: string): EpochMs =>
  epochMs(Number(text) * (text.length <= 10 ? secondMs : 1));

const rowWithId = z.looseObject({ billId: spotBillFields.billId });

/** The id of a row, even where other fields are broken; undefined where it has no valid id. */
export const spotBillIdOf = (given: unknown): string | undefined =>
  rowWithId.safeParse(given).data?.billId;

const rowWithTime = z.looseObject({ cTime: spotBillFields.cTime });

/** The time of a row, even where other fields are broken; undefined where it has no valid time. */
export function spotBillTimeOf(given: unknown): EpochMs | undefined {
  const { data } = rowWithTime.safeParse(given);
  return data && timeOf(data.cTime);
}
