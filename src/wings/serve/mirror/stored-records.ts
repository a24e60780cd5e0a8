import type { z } from "zod";
import { contractFields, type contracts } from "../../../core/contract/contracts.ts";
import { parseExactJson } from "../../../core/contract/json.ts";
import type { LoanToValue, loanToValue } from "../../../core/contract/loan-to-value.ts";
import { symbolFields, type symbols } from "../../../core/contract/symbols.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { Refusal } from "../../../core/server/answer.ts";
import { readAccountState } from "../../../core/store/accounts/account-states.ts";
import { readLastSnapshot } from "../../../core/store/reference/stored-loan-to-value.ts";
import {
  type ListedRow,
  type ListedRows,
  readContracts,
  readPairs,
} from "../../../core/store/reference/stored-symbols.ts";
import { epochMs, isoTime } from "../../../lib/time.ts";
import type { ServeDeps } from "../route-group.ts";
import type { Served } from "../send-envelope.ts";
import type { Admitted } from "./access.ts";
import { refusedMode, storedMode } from "./ledger-time.ts";

/** Get Account Settings. Clients choose by it which API to ask for bills. */
export async function serveSettings(
  _: object,
  { key: { account } }: Admitted,
  { read }: ServeDeps,
): Promise<Served> {
  const is = await read(
    async (tx) => (await readAccountState(tx, account)).mode?.name ?? storedMode(tx, account),
  );
  return { data: is === "unified" ? { uid: "", accountMode: is } : refusedMode("unified") };
}

/**
 * Get LTV: the newest record, as it was read. A record that is too old is refused: yesterday's
 * price says nothing about today.
 */
export async function serveLoanToValue(
  { riskUnitId = "" }: z.output<typeof loanToValue.query>,
  { key, now }: Admitted,
  { read, limits }: ServeDeps,
): Promise<Served> {
  const { account, productTypes, incomplete } = key;
  if (productTypes !== undefined)
    return { data: new Refusal(400, "40014", "Incorrect permissions: the key reads bills alone") };
  const last = await read((tx) => readLastSnapshot(tx, { account, unit: riskUnitId }));
  if (last === undefined) return { data: notRead(account) };
  const headers = {
    "x-first-seen-at": last.firstSeenAt,
    "x-last-seen-at": isoTime(epochMs(last.lastSeenAtMs)),
  };
  if (incomplete !== "allow" && now - last.lastSeenAtMs > limits.maxAgeMs)
    return { data: stale(headers["x-last-seen-at"]), headers };
  return { data: wireRecord(last.record), headers };
}

const notRead = (account: string) =>
  new Refusal(400, "40054", `${account}: no such loan-to-value record is stored`);

const stale = (readAt: string) =>
  new Refusal(
    503,
    "40725",
    `the loan-to-value was last read at ${readAt}; run sync, and try again`,
    {
      "retry-after": "60",
    },
  );

const sent = (value: string | null): string => value ?? "";

function wireRecord(record: LoanToValue): object {
  return {
    ltv: sent(record.ltv),
    subAccountUids: record.subAccountUids ?? [],
    usdtBalance: sent(record.usdtBalance),
    unpaidUsdtAmount: sent(record.unpaidUsdtAmount),
    unpaidInfo: record.debts.map(({ coin, unpaidQty, unpaidInterest, extra }) => ({
      ...{ coin, unpaidQty: sent(unpaidQty), unpaidInterest: sent(unpaidInterest) },
      ...extra,
    })),
    balanceInfo: record.collateral.map(({ coin, price, amount, convertedUsdtAmount, extra }) => ({
      ...{ coin, price: sent(price), amount: sent(amount) },
      convertedUsdtAmount: sent(convertedUsdtAmount),
      ...extra,
    })),
    ...record.extra,
  };
}

/**
 * A list as it was last read. One that was never read is empty: clients then know fewer names, but no wrong ones.
 */
const serveList =
  <Query extends { readonly symbol?: string | undefined }>(
    fields: Readonly<Record<string, z.ZodType>>,
    readRows: (tx: Transaction, query: Query, symbol: string | undefined) => Promise<ListedRows>,
  ) =>
  async (query: Query, { read }: ServeDeps): Promise<Served> => {
    const symbol = query.symbol?.trim() || undefined;
    const { readAt, rows } = await read((tx) => readRows(tx, query, symbol));
    const headers = readAt === undefined ? {} : { "x-read-at": isoTime(readAt) };
    if (symbol !== undefined && rows.length === 0)
      return { data: new Refusal(400, "40034", `Parameter ${symbol} does not exist`), headers };
    return { data: rows.map((row) => wireRow(row, Object.keys(fields))), headers };
  };

/** Get Symbol Info: the spot pairs. */
export const serveSymbols = serveList<z.output<typeof symbols.query>>(
  symbolFields,
  (tx, _, symbol) => readPairs(tx, symbol),
);

/** The contracts of a product type. Clients need them to interpret a bill's symbol. */
export const serveContracts = serveList<z.output<typeof contracts.query>>(
  contractFields,
  (tx, { productType }, symbol) => readContracts(tx, productType, symbol),
);

const wireRow = ({ extra = null, ...row }: ListedRow, names: readonly string[]): object => ({
  ...Object.fromEntries(names.map((name) => [name, wireValue(name, row[name] ?? null)])),
  ...(extra === null ? {} : (parseExactJson(extra) as object)),
});

/** All fields are text, except one list. */
const wireValue = (name: string, value: string | null): unknown =>
  name === "supportMarginCoins" ? JSON.parse(value ?? "[]") : (value ?? "");
