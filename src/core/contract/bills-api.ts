import { type EpochMs, intervalMaxMs, retentionMs, unifiedIntervalMaxMs } from "../../lib/time.ts";
import { accountBills } from "./account-bills.ts";
import { type BillRows, classicRows } from "./bill.ts";
import { financialRecords } from "./financial-records.ts";
import { fundingRecords, fundingRows } from "./funding-records.ts";
import type { Query } from "./operation.ts";
import {
  type ClassicProductType,
  categoryOf,
  fundingWallet,
  isUnified,
  type ProductType,
  productTypes,
  spotWallet,
  type UnifiedProductType,
} from "./product-types.ts";
import { spotBills, spotRows } from "./spot-bills.ts";
import { unifiedRows } from "./unified-bill.ts";

/** The question for one page. Without times it asks for the newest page. */
export type BillsQuestion = {
  readonly startTime?: EpochMs;
  readonly endTime?: EpochMs;
  /** A bill's id: the bills older than it are asked for. */
  readonly idLessThan?: string | undefined;
  readonly limit: number;
};

/** How the ledger of one product type is read: by the classic API or by the API of unified accounts. */
export type BillsApi = BillRows & {
  readonly operation: BillsOperation;
  /**
   * The longest window, 1 ms shorter than the longest span that the exchange allows. A window
   * `[from, to)` is asked for as `from - 1` to `to`. These bounds lie just outside the window, so its
   * first and last millisecond are served whether or not the exchange includes the bounds.
   */
  readonly windowMaxMs: number;
  /** The disorder of ids against times that is known beforehand; see `IdTimeOrder.disorderMs`. */
  readonly idDisorderMs: number;
  query(question: BillsQuestion): Query;
  /** Where the answer's data has the rows. */
  readonly rowsAt: readonly string[];
};

export const billsOperations = [accountBills, spotBills, financialRecords, fundingRecords] as const;

type BillsOperation = (typeof billsOperations)[number];

/** @param cursor the API's name of the id below which it is asked. */
const queryBy =
  (cursor: "idLessThan" | "cursor") =>
  ({ startTime, endTime, limit, idLessThan }: BillsQuestion): Query => ({
    ...(startTime === undefined ? {} : { startTime: String(startTime) }),
    ...(endTime === undefined ? {} : { endTime: String(endTime) }),
    limit: String(limit),
    ...(idLessThan === undefined ? {} : { [cursor]: idLessThan }),
  });
const classicQuery = queryBy("idLessThan");
const unifiedQuery = queryBy("cursor");

const classicApi = (productType: ClassicProductType): BillsApi => ({
  operation: accountBills,
  windowMaxMs: intervalMaxMs - 1,
  idDisorderMs: 0,
  query: (question) => ({ productType, ...classicQuery(question) }),
  rowsAt: ["bills"],
  ...classicRows,
});

const unifiedApi = (productType: UnifiedProductType): BillsApi => ({
  operation: financialRecords,
  // As long as a classic account's: more walks at once use the rate limit better than longer windows.
  windowMaxMs: intervalMaxMs - 1,
  // A funding row carries the time of its settlement, but its id is made later: by 1,472 ms in a public row.
  idDisorderMs: 2_000,
  query: (question) => ({ category: categoryOf(productType), ...unifiedQuery(question) }),
  rowsAt: ["list"],
  ...unifiedRows(productType),
});

// An id is made up to 118 ms after its bill's time, in public rows.
const walletIdDisorderMs = 2_000;

const spotApi: BillsApi = {
  operation: spotBills,
  windowMaxMs: retentionMs - 1,
  idDisorderMs: walletIdDisorderMs,
  query: classicQuery,
  rowsAt: [],
  ...spotRows,
};

const fundingApi: BillsApi = {
  operation: fundingRecords,
  windowMaxMs: unifiedIntervalMaxMs - 1,
  idDisorderMs: walletIdDisorderMs,
  query: unifiedQuery,
  rowsAt: ["list"],
  ...fundingRows,
};

function makeApi(type: ProductType): BillsApi {
  if (type === spotWallet) return spotApi;
  if (type === fundingWallet) return fundingApi;
  return isUnified(type) ? unifiedApi(type) : classicApi(type);
}

const apis: ReadonlyMap<ProductType, BillsApi> = new Map(
  productTypes.map((type) => [type, makeApi(type)]),
);

/** The tables may hold product types that the configuration does not accept: their prefix decides the API. */
export const billsApiOf = (productType: ProductType): BillsApi =>
  apis.get(productType) ?? makeApi(productType);
