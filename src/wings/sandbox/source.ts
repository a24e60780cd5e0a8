import { pageSizeDefault } from "../../core/contract/account-bills.ts";
import { compareIds } from "../../core/contract/bill.ts";
import { nonFinancialTypes } from "../../core/contract/business-types.ts";
import {
  type ClassicProductType,
  isUnified,
  spotWallet,
  unifiedProductTypes,
  unifiedWallet,
} from "../../core/contract/product-types.ts";
import { spotTaxTypes, taxRowsMax, taxTypes } from "../../core/contract/tax-records.ts";
import { Refusal } from "../../core/server/answer.ts";
import type { EpochMs } from "../../lib/time.ts";
import { type LedgerBill, snowflakeTime } from "./entry.ts";
import type {
  BillsRequest,
  Source,
  TaxRequest,
  WirePage,
  WithdrawalsRequest,
} from "./exchange/source.ts";
import type { AccountBills } from "./ledger.ts";

/** One account's data. */
type AccountData = {
  readonly ledger: AccountBills;
  /** The records that the account may request. The first is its own, served without an id. */
  readonly riskUnits: ReadonlyMap<string, object>;
};

type Listed = readonly { readonly symbol: string }[];

type SandboxSourceOptions = {
  /** Accounts by user ID. */
  readonly accounts: ReadonlyMap<string, AccountData>;
  readonly symbols: Listed;
  readonly contracts: (productType: ClassicProductType) => Listed;
};

/** Answers from the accounts' ledgers. */
export function sandboxSource(options: SandboxSourceOptions): Source {
  const { symbols, contracts } = options;
  const accountOf = (uid: string): AccountData => {
    const account = options.accounts.get(uid);
    if (account === undefined) throw new Error(`no account of the sandbox has the user ID ${uid}`);
    return account;
  };
  return {
    async bills(request) {
      return page(accountOf(request.caller.uid).ledger, request);
    },
    async taxRecords(request) {
      return taxRecords(accountOf(request.caller.uid).ledger, request);
    },
    async withdrawals(request) {
      return withdrawals(accountOf(request.caller.uid).ledger, request);
    },
    async loanToValue({ caller, riskUnitId }) {
      const { riskUnits } = accountOf(caller.uid);
      const [onlyRecord] = riskUnits.values();
      const record = riskUnitId === undefined ? onlyRecord : riskUnits.get(riskUnitId);
      return record ?? new Refusal(400, "40020", "Parameter riskUnitId error");
    },
    async balances({ caller, now, wallet }) {
      const { bills } = accountOf(caller.uid).ledger;
      // A bill moves the balance when it is booked, and may be shown later.
      const booked =
        wallet === unifiedWallet
          ? unifiedProductTypes
              .flatMap((type) => bills[type].filter(({ billId }) => snowflakeTime(billId) <= now))
              .toSorted(byId)
          : bills[wallet].filter(({ cTime }) => cTime <= now);
      const last = new Map(
        booked.map((bill) => [bill.coin, Object(currentRow(bill, now)).balance]),
      );
      return [...last].flatMap(([coin, balance]) =>
        typeof balance === "string" && /^-?\d+(\.\d+)?$/.test(balance) ? [{ coin, balance }] : [],
      );
    },
    async symbols(symbol) {
      return named(symbols, symbol);
    },
    async contracts(productType, symbol) {
      return named(contracts(productType), symbol);
    },
  };
}

/** A whole list, or its rows for one symbol. */
function named(list: Listed, symbol: string | undefined): Listed | Refusal {
  if (symbol === undefined) return list;
  const rows = list.filter((row) => row.symbol === symbol);
  return rows.length > 0 ? rows : new Refusal(400, "40034", `Parameter ${symbol} does not exist`);
}

function page(ledger: AccountBills, request: BillsRequest): WirePage | Refusal {
  if (request.idLessThan !== undefined && !/^\d{1,20}$/.test(request.idLessThan))
    return new Refusal(400, "40020", "Parameter idLessThan error");
  const bills = newestFirst(ledger.bills[request.productType], request);
  return {
    bills: bills.map((bill) => currentRow(bill, request.now)),
    endId: bills.at(-1)?.billId ?? "",
  };
}

const taxNames = new Map(
  Object.entries({ ...taxTypes, ...spotTaxTypes }).map(([taxName, name]) => [name, taxName]),
);

/** The bills of a span as tax records, oldest first, however old they are. */
function taxRecords(
  { bills }: AccountBills,
  { now, productType, limit, ...span }: TaxRequest,
): readonly object[] {
  return bills[productType]
    .filter(({ cTime, visibleAt }) => isWithin(span, cTime) && visibleAt <= now)
    .toSorted(byTime)
    .slice(0, Number(limit ?? taxRowsMax))
    .map((bill) => {
      const row = Object(currentRow(bill, now));
      const { billId: id, coin, cTime } = bill;
      const type = taxNames.get(bill.businessType) ?? bill.businessType;
      const { symbol, amount, fee, balance, size, fees } = row;
      if (productType === spotWallet)
        return { id, coin, spotTaxType: type, amount: size, fee: fees, balance, ts: String(cTime) };
      return isUnified(productType)
        ? { id, coin, type, amount, fee, balance, ts: String(cTime) }
        : { id, symbol, marginCoin: coin, futureTaxType: type, amount, fee, ts: String(cTime) };
    });
}

/** The records of the withdrawals that were made in a span, newest first. */
function withdrawals(
  { bills }: AccountBills,
  { now, wallet, below, limit, ...span }: WithdrawalsRequest,
): readonly object[] {
  return bills[wallet]
    .filter(({ visibleAt }) => visibleAt <= now)
    .flatMap(({ withdrawal }) => withdrawal ?? [])
    .filter(({ madeAt, orderId }) => {
      const isBelow = below === undefined || compareIds(orderId, below) < 0;
      return isWithin(span, madeAt) && isBelow;
    })
    .toSorted((a, b) => compareIds(b.orderId, a.orderId))
    .slice(0, Number(limit ?? pageSizeDefault))
    .map(({ record }) => record);
}

const isWithin = (
  { startTime, endTime }: Pick<TaxRequest, "startTime" | "endTime">,
  time: number,
): boolean => time >= Number(startTime) && time <= Number(endTime);

const currentRow = ({ row, restated }: LedgerBill, now: EpochMs): unknown =>
  restated !== undefined && restated.at <= now ? restated.row : row;

/** The matching bills of a page, newest first or by descending id. */
function newestFirst(ledger: readonly LedgerBill[], request: BillsRequest): LedgerBill[] {
  const { startTime = 0, endTime = Number.POSITIVE_INFINITY, horizon = 0, limit } = request;
  const { sortedBy = isUnified(request.productType) ? "id" : "time" } = request;
  const least = Math.max(startTime, horizon);
  const cursor = request.idLessThan === undefined ? undefined : BigInt(request.idLessThan);
  const isTooNew = ({ cTime }: LedgerBill) => cTime > endTime;
  const isTooHigh = ({ billId }: LedgerBill) => cursor !== undefined && BigInt(billId) >= cursor;
  const bills = sorted(ledger, sortedBy);
  const end = firstIndex(bills, sortedBy === "id" ? isTooHigh : isTooNew);
  const page: LedgerBill[] = [];
  for (let index = end - 1; index >= 0 && page.length < limit; index--) {
    const bill = bills[index];
    if (bill === undefined || (bill.cTime < least && sortedBy === "time")) break;
    if (bill.cTime < least || isTooNew(bill) || isTooHigh(bill)) continue;
    if (bill.visibleAt <= request.now && matches(bill, request)) page.push(bill);
  }
  return page;
}

const byId = (a: LedgerBill, b: LedgerBill) => compareIds(a.billId, b.billId);
const byTime = (a: LedgerBill, b: LedgerBill) => a.cTime - b.cTime || byId(a, b);

type Ledger = readonly LedgerBill[];
const sortedLedgers = { time: new WeakMap<Ledger, Ledger>(), id: new WeakMap<Ledger, Ledger>() };

/**
 * A ledger in the order of its pages, oldest or lowest first. Sorted anew when a simulation has
 * added bills.
 */
function sorted(ledger: Ledger, by: "time" | "id"): Ledger {
  const before = sortedLedgers[by].get(ledger);
  if (before?.length === ledger.length) return before;
  const bills = ledger.toSorted(by === "id" ? byId : byTime);
  sortedLedgers[by].set(ledger, bills);
  return bills;
}

function matches(
  { businessType, coin }: LedgerBill,
  request: Pick<BillsRequest, "businessType" | "coin" | "onlyFunding">,
): boolean {
  if (request.businessType !== undefined && request.businessType !== businessType) return false;
  if (request.coin !== undefined && request.coin !== coin) return false;
  return !(request.onlyFunding && nonFinancialTypes.some((code) => code === businessType));
}

/** The index from which all bills are beyond a bound. */
function firstIndex(bills: readonly LedgerBill[], isBeyond: (bill: LedgerBill) => boolean): number {
  let low = 0;
  let high = bills.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const bill = bills[middle];
    if (bill === undefined || isBeyond(bill)) high = middle;
    else low = middle + 1;
  }
  return low;
}
