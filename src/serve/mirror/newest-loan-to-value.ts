import type { LoanToValue } from "../../contract/loan-to-value.ts";
import { epochMs, isoTime } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { readLastSnapshot } from "../../db/reference/stored-loan-to-value.ts";
import { readQuery } from "../../exchange-server/read-query.ts";
import { Refusal } from "../../exchange-server/source.ts";
import type { Asked, Served } from "./bill-pages.ts";
import { loanToValueQuery } from "./queries.ts";

/**
 * Get LTV: the newest record, as it was read. A record that is too old is refused: yesterday's
 * price says nothing about today.
 */
export async function serveLoanToValue(
  tx: Transaction,
  { key, query, now }: Asked,
  maxAgeMs: number,
): Promise<Served> {
  const asked = readQuery(loanToValueQuery, query);
  if (asked instanceof Refusal) return { data: asked };
  const { account, productTypes, gaps } = key;
  if (productTypes !== undefined)
    return { data: new Refusal(400, "40014", "Incorrect permissions: the key reads bills alone") };
  const last = await readLastSnapshot(tx, { account, unit: asked.riskUnitId ?? "" });
  if (last === undefined) return { data: notRead(account) };
  const headers = {
    "x-taken-at": last.takenAt,
    "x-held-until": isoTime(epochMs(last.heldUntilMs)),
  };
  if (gaps !== "allow" && now - last.heldUntilMs > maxAgeMs)
    return { data: stale(headers["x-held-until"]), headers };
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
