import { z } from "zod";
import { dayMs, type EpochMs } from "../../lib/time.ts";
import { timeOfText } from "./bill.ts";
import type { RowFault } from "./json.ts";
import { type Operation, spanAtMost, spanParameters } from "./operation.ts";
import { fundingWallet, spotWallet } from "./product-types.ts";
import { type Row, readerOf } from "./row.ts";
import { decimal, epochMsText, optionalText, text } from "./scalars.ts";
import { spotCoin } from "./spot-bills.ts";

// A bill of the funding wallet has no fee: that of a withdrawal is in its record alone. In a public answer of both, the
// record's size less its fee is the bill's amount, and the time of its last change is the bill's.

type WithdrawalReading = { readonly withdrawal: Withdrawal } | { readonly fault: RowFault };

/** The most records of one answer. */
export const withdrawalRowsMax = 100;

// Longer spans may be refused.
export const withdrawalSpanMaxMs = 30 * dayMs;

const query = <Cursor extends z.ZodRawShape>(cursor: Cursor) =>
  z
    .strictObject({
      coin: z.string().optional(),
      orderId: z.string().optional(),
      clientOid: z.string().optional(),
      ...spanParameters(withdrawalRowsMax),
      startTime: epochMsText,
      endTime: epochMsText,
      ...cursor,
    })
    .refine(...spanAtMost(withdrawalSpanMaxMs));

const rows = z
  .array(z.unknown())
  .nullable()
  .transform((list) => list ?? []);

/** Get Withdrawal Records of a classic account, newest first. */
const classicWithdrawals = {
  name: "withdrawal records",
  path: "/api/v2/spot/wallet/withdrawal-records",
  access: "signed",
  /** `idLessThan` is an order's id: older ones are asked for. */
  query: query({ idLessThan: z.string().optional() }),
  data: rows,
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

/** Get Withdrawal Records of a unified account, newest first. */
const unifiedWithdrawals = {
  name: "unified withdrawal records",
  path: "/api/v3/account/withdrawal-records",
  access: "signed",
  query: query({ cursor: z.string().optional() }),
  data: rows,
  limit: { requests: 10, scope: "uid" },
} as const satisfies Operation;

export const withdrawalOperations = { classic: classicWithdrawals, unified: unifiedWithdrawals };

const fields = {
  orderId: text,
  /** In lower case in the exchange's own example. */
  coin: text.transform(spotCoin),
  /** What left the wallet, the fee included. Not signed. */
  size: decimal,
  /** Signed as it was served: negative in public answers. */
  fee: decimal,
  /** `pending`, `success` or `fail`. */
  status: text,
  chain: optionalText,
};

/** A withdrawal to the outside. */
export type Withdrawal = Row<typeof fields> & {
  /** The transaction on the chain; of an internal transfer, its id. */
  readonly transactionId: string | null;
  readonly createdAt: EpochMs;
  /** When it changed last. */
  readonly updatedAt: EpochMs;
};

const readClassic = readerOf({
  ...fields,
  tradeId: optionalText,
  cTime: epochMsText,
  uTime: epochMsText,
});
const readUnified = readerOf({
  ...fields,
  recordId: optionalText,
  createdTime: epochMsText,
  updatedTime: epochMsText,
});

type WithdrawalSpan = {
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** An order's id: older ones are asked for. */
  readonly below: string | undefined;
};

/** How the withdrawals from a wallet are read. */
type WithdrawalsApi = {
  readonly operation: (typeof withdrawalOperations)["classic" | "unified"];
  query(span: WithdrawalSpan): Readonly<Record<string, string>>;
  /** Never throws: for a row that is no withdrawal it returns the fault. */
  read(row: unknown): WithdrawalReading;
};

export type WithdrawingWallet = typeof spotWallet | typeof fundingWallet;

const queryBy =
  (cursor: "idLessThan" | "cursor") =>
  ({ from, to, below }: WithdrawalSpan) => ({
    startTime: String(from),
    endTime: String(to),
    limit: String(withdrawalRowsMax),
    ...(below === undefined ? {} : { [cursor]: below }),
  });

/** By the wallet that they leave: the spot wallet of a classic account, the funding wallet of a unified one. */
export const withdrawalsApis: Readonly<Record<WithdrawingWallet, WithdrawalsApi>> = {
  [spotWallet]: {
    operation: classicWithdrawals,
    query: queryBy("idLessThan"),
    read(row) {
      const reading = readClassic(row);
      if ("fault" in reading) return reading;
      const { tradeId: transactionId, cTime, uTime, ...same } = reading.values;
      const [createdAt, updatedAt] = [timeOfText(cTime), timeOfText(uTime)];
      return { withdrawal: { ...same, transactionId, createdAt, updatedAt } };
    },
  },
  [fundingWallet]: {
    operation: unifiedWithdrawals,
    query: queryBy("cursor"),
    read(row) {
      const reading = readUnified(row);
      if ("fault" in reading) return reading;
      const { recordId: transactionId, createdTime, updatedTime, ...same } = reading.values;
      const [createdAt, updatedAt] = [timeOfText(createdTime), timeOfText(updatedTime)];
      return { withdrawal: { ...same, transactionId, createdAt, updatedAt } };
    },
  },
};
