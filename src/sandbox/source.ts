import { nonFinancialTypes } from "../contract/business-types.ts";
import { compareIds } from "../contract/compare-ids.ts";
import { type ClassicProductType, isUnified, type ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import {
  type BillsRequest,
  Refusal,
  type Source,
  type WirePage,
} from "../exchange-server/source.ts";
import type { Ledger } from "./ledger.ts";
import type { LedgerBill } from "./ledger-bill.ts";
import { integer, type Random, shuffled } from "./random.ts";

/** Behaviours that the API's documentation leaves open. The real exchange may show any of them. */
export type Quirks = {
  /** Which of startTime and endTime include their own millisecond. Default both. */
  readonly bounds?: "both" | "start" | "end" | "neither";
  /** The form of an empty page. Default `{"bills":[],"endId":""}`. */
  readonly lastPage?: "empty-string" | "null-id" | "no-id" | "null-bills" | "same-id";
  /** Whether the last page with bills lacks an endId. Default false. */
  readonly shortLastPage?: boolean;
  /** Whether any page may have fewer bills than requested. Default false. */
  readonly shortPages?: boolean;
  /** The most bills on a page, whatever is requested. Default as many as requested. */
  readonly pageRows?: number;
  /**
   * What decides which bills are on a page. It makes no difference where ids rise with times.
   * Default time; id in a unified account, whose ids do not rise with its times.
   */
  readonly sortedBy?: "time" | "id";
  /** Whether idLessThan, or the cursor of v3, includes the bill of that id. Default false. */
  readonly inclusiveCursor?: boolean;
  /** The order inside a page. endId is the oldest row's in any order. Default newest-first. */
  readonly pageOrder?: "newest-first" | "oldest-first" | "shuffled";
};

/** One account's data. */
export type AccountData = {
  readonly ledger: Ledger;
  /** The records that the account may request. The first is its own, served without an id. */
  readonly riskUnits: ReadonlyMap<string, object>;
  /** Whether requests must name a unit, as for a parent account. Default false. */
  readonly isParent?: boolean;
};

type Listed = readonly { readonly symbol: string }[];

export type SandboxSourceOptions = {
  /** Accounts by user ID. */
  readonly accounts: ReadonlyMap<string, AccountData>;
  /** Called for each request, so that settings may change. */
  readonly symbols: () => Listed;
  /** Called for each request. Default none. */
  readonly contracts?: (productType: ClassicProductType) => Listed;
  readonly random: Random;
  readonly quirks?: Quirks;
};

/** Answers from the accounts' ledgers. */
export function sandboxSource(options: SandboxSourceOptions): Source {
  const { symbols, contracts = () => [], random, quirks = {} } = options;
  const accountOf = (uid: string): AccountData => {
    const account = options.accounts.get(uid);
    if (account === undefined) throw new Error(`no account of the sandbox has the user ID ${uid}`);
    return account;
  };
  return {
    async bills(request) {
      return page(accountOf(request.caller.uid).ledger, request, quirks, random);
    },
    async loanToValue({ caller, riskUnitId }) {
      const { riskUnits, isParent = false } = accountOf(caller.uid);
      if (riskUnitId === undefined && isParent)
        return new Refusal(400, "40019", "Parameter riskUnitId cannot be empty");
      const [own] = riskUnits.values();
      const record = riskUnitId === undefined ? own : riskUnits.get(riskUnitId);
      return record ?? new Refusal(400, "40020", "Parameter riskUnitId error");
    },
    async symbols(symbol) {
      return named(symbols(), symbol);
    },
    async contracts(productType, symbol) {
      return named(contracts(productType), symbol);
    },
  };
}

/** A whole list, or its rows for one symbol. */
function named(list: Listed, symbol: string | undefined): Listed | Refusal {
  if (symbol === undefined) return list;
  const found = list.filter((row) => row.symbol === symbol);
  return found.length > 0 ? found : new Refusal(400, "40034", `Parameter ${symbol} does not exist`);
}

function page(
  ledger: Ledger,
  request: BillsRequest,
  quirks: Quirks,
  random: Random,
): WirePage | Refusal {
  if (request.idLessThan !== undefined && !/^\d{1,20}$/.test(request.idLessThan))
    return new Refusal(400, "40020", "Parameter idLessThan error");
  const most = Math.min(request.limit, quirks.pageRows ?? request.limit);
  const size = quirks.shortPages ? integer(random, Math.ceil(most / 4), most) : most;
  // One more than fits: it shows whether there is a next page.
  const found = newestFirst(ledger.bills[request.productType], request, quirks, size + 1);
  const bills = found.slice(0, size);
  const oldest = bills.at(-1);
  if (oldest === undefined) return lastPage([], quirks, request.idLessThan);
  const rows = bills.map((bill) => currentRow(bill, request.now));
  const ordered = inOrder(rows, quirks, random);
  if (quirks.shortLastPage && found.length === bills.length)
    return lastPage(ordered, quirks, undefined);
  return { bills: ordered, endId: oldest.billId };
}

const currentRow = ({ row, restated }: LedgerBill, now: EpochMs): unknown =>
  restated !== undefined && restated.at <= now ? restated.row : row;

function inOrder(rows: readonly unknown[], { pageOrder }: Quirks, random: Random) {
  switch (pageOrder) {
    case undefined:
    case "newest-first":
      return rows;
    case "oldest-first":
      return rows.toReversed();
    case "shuffled":
      return shuffled(random, rows);
    default:
      return pageOrder satisfies never;
  }
}

function lastPage(
  bills: readonly unknown[],
  { lastPage: shape }: Quirks,
  cursor: string | undefined,
): WirePage {
  switch (shape) {
    case undefined:
    case "empty-string":
      return { bills, endId: "" };
    case "null-id":
      return { bills, endId: null };
    case "no-id":
      return { bills };
    case "same-id":
      return { bills, endId: cursor ?? "" };
    case "null-bills":
      return { bills: bills.length === 0 ? null : bills, endId: null };
    default:
      return shape satisfies never;
  }
}

/** The matching bills, at most `most`, newest first or by descending id. */
function newestFirst(
  ledger: readonly LedgerBill[],
  request: BillsRequest,
  quirks: Quirks,
  most: number,
): LedgerBill[] {
  const { bounds = "both", inclusiveCursor = false } = quirks;
  const { sortedBy = isUnified(request.productType) ? "id" : "time" } = quirks;
  const { startTime = 0, endTime = Number.POSITIVE_INFINITY, horizon = 0 } = request;
  const least = Math.max(
    bounds === "both" || bounds === "start" ? startTime : startTime + 1,
    horizon,
  );
  const includesEnd = bounds === "both" || bounds === "end";
  const isTooNew = ({ cTime }: LedgerBill) => (includesEnd ? cTime > endTime : cTime >= endTime);
  const cursor =
    request.idLessThan === undefined
      ? undefined
      : BigInt(request.idLessThan) + (inclusiveCursor ? 1n : 0n);
  const isTooHigh = ({ billId }: LedgerBill) => cursor !== undefined && BigInt(billId) >= cursor;
  const { bills, isOrdered } = sorted(ledger, sortedBy);
  const end = firstIndex(bills, (bill) =>
    isOrdered
      ? isTooNew(bill) || isTooHigh(bill)
      : (sortedBy === "id" ? isTooHigh : isTooNew)(bill),
  );
  const found: LedgerBill[] = [];
  for (let index = end - 1; index >= 0 && found.length < most; index--) {
    const bill = bills[index];
    if (bill === undefined || (bill.cTime < least && (isOrdered || sortedBy === "time"))) break;
    if (bill.cTime < least || isTooNew(bill) || isTooHigh(bill)) continue;
    if (bill.visibleAt <= request.now && matches(bill, request)) found.push(bill);
  }
  return found;
}

type Sorted = {
  readonly length: number;
  readonly bills: readonly LedgerBill[];
  /** Whether ids rise with times. */
  readonly isOrdered: boolean;
};

const sortedLedgers = new WeakMap<readonly LedgerBill[], Partial<Record<"time" | "id", Sorted>>>();

/**
 * A ledger in the order of its pages, oldest or lowest first. Sorted anew when a simulation has
 * added bills.
 */
function sorted(ledger: readonly LedgerBill[], by: "time" | "id"): Sorted {
  const known = sortedLedgers.get(ledger);
  const before = known?.[by];
  if (before?.length === ledger.length) return before;
  const byId = (a: LedgerBill, b: LedgerBill) => compareIds(a.billId, b.billId);
  const isOrdered = ledger.every((bill, index) => {
    const last = ledger[index - 1];
    return last === undefined || (last.cTime <= bill.cTime && byId(last, bill) < 0);
  });
  const inOrder =
    by === "id" ? byId : (a: LedgerBill, b: LedgerBill) => a.cTime - b.cTime || byId(a, b);
  const bills = isOrdered ? ledger : ledger.toSorted(inOrder);
  const made = { length: ledger.length, bills, isOrdered };
  sortedLedgers.set(ledger, { ...known, [by]: made });
  return made;
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

/** The bills that a client has if it misses none: all served by now, oldest first. */
export const servedBills = (
  ledger: Ledger,
  productType: ProductType,
  { from, to, now }: { readonly from: number; readonly to: number; readonly now: number },
): readonly LedgerBill[] =>
  ledger.bills[productType].filter(
    ({ cTime, visibleAt }) => cTime >= from && cTime < to && visibleAt <= now,
  );
