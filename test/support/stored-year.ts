import { readContract } from "../../src/core/contract/contracts.ts";
import { readLoanToValue } from "../../src/core/contract/loan-to-value.ts";
import {
  type ContractProductType,
  contractProductTypes,
  type ProductType,
} from "../../src/core/contract/product-types.ts";
import { readSymbol } from "../../src/core/contract/symbols.ts";
import { type Database, inTransaction } from "../../src/core/postgres/connect.ts";
import { commitLoanToValue } from "../../src/core/store/reference/stored-loan-to-value.ts";
import { commitContracts, commitSymbols } from "../../src/core/store/reference/stored-symbols.ts";
import { type EpochMs, epochMs } from "../../src/lib/time.ts";
import type { SandboxAccount } from "../../src/wings/sandbox/sandbox.ts";
import { coverLedger, servedBills, storeBills } from "./stored-ledger.ts";

/** A ledger as it is after syncs of a long time, without their requests. */
export async function storeLedger(
  db: Database,
  { name, ledger }: SandboxAccount,
  productTypes: readonly ProductType[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  for (const productType of productTypes) {
    const bills = servedBills(
      ledger,
      productType,
      ({ cTime, visibleAt }) => cTime >= from && cTime < to && visibleAt <= to,
    );
    await storeBills(db, { account: name, productType }, bills);
    await coverLedger(db, { account: name, productType }, from, to);
  }
}

/** The pairs and contracts that the exchange at a URL lists. */
export async function storeLists(db: Database, url: string, readAt: EpochMs): Promise<void> {
  const listOf = async (path: string): Promise<readonly unknown[]> => {
    return ((await (await fetch(`${url}${path}`)).json()) as { data: readonly unknown[] }).data;
  };
  const common = { readAt, unread: [], isWhole: true };
  const pairs = await listOf("/api/v2/spot/public/symbols");
  await commitSymbols(db, { ...common, settings: pairs.map((row) => good(readSymbol(row))) });
  const readTypes = async (productType: ContractProductType) => {
    const rows = await listOf(`/api/v2/mix/market/contracts?productType=${productType}`);
    const settings = rows.map((row) => good(readContract(row)));
    await commitContracts(db, { ...common, productType, settings });
  };
  for (const productType of contractProductTypes) await readTypes(productType);
}

function good<Settings>(reading: { values: Settings } | { fault: unknown }): Settings {
  if ("fault" in reading) throw new Error("the list has a row with a fault");
  return reading.values;
}

/** A record of an account's own risk unit. */
export async function storeLoanToValue(
  db: Database,
  account: string,
  data: unknown,
  readAt: number,
): Promise<void> {
  const reading = readLoanToValue(data);
  if ("fault" in reading) throw new Error("the record has a fault");
  const commit = {
    account,
    riskUnitId: undefined,
    readAt: epochMs(readAt),
    record: reading.record,
  };
  await inTransaction(db, (tx) => commitLoanToValue(tx, commit));
}
