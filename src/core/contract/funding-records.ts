import { billRows, noPosition, timeOfText } from "./bill.ts";
import { groupedType } from "./business-types.ts";
import { recordsData, recordsQuery } from "./financial-records.ts";
import type { Operation } from "./operation.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";

/** Get Funding Financial Records: the last 90 days of a unified account's funding wallet. */
export const fundingRecords = {
  name: "funding records",
  path: "/api/v3/account/funding-financial-records",
  access: "signed",
  query: recordsQuery({}),
  data: recordsData,
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

/** The fields of a record. It has no fee: that of a withdrawal is in no row, only in the balance. */
const fundingRecordFields = {
  id: text,
  coin: text,
  groupType: optionalText,
  type: optionalText,
  amount: decimal,
  balance: optionalDecimal,
  ts: epochMsText,
};

/** The rows of the funding wallet. */
export const fundingRows = billRows(fundingRecordFields, { id: "id", time: "ts" }, (row) => {
  const { id, groupType, type, ts, ...same } = row;
  return {
    bill: {
      ...same,
      ...noPosition,
      billId: id,
      symbol: null,
      fee: "0",
      feeByCoupon: null,
      businessType: groupedType(groupType, type),
      cTime: timeOfText(ts),
    },
  };
});
