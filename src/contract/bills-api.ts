import { accountBills } from "./account-bills.ts";
import { type BillReading, billIdOf, cTimeOf, readBill } from "./bill.ts";
import { financialRecords } from "./financial-records.ts";
import type { Query } from "./operation.ts";
import {
  type ClassicProductType,
  categoryOf,
  isUnified,
  type ProductType,
  productTypes,
  type UnifiedProductType,
} from "./product-types.ts";
import { type EpochMs, intervalMaxMs, unifiedIntervalMaxMs } from "./time.ts";
import { readUnifiedBill, unifiedBillIdOf, unifiedBillTimeOf } from "./unified-bill.ts";

/** The question for one page. Without times it asks for the newest page. */
export type BillsQuestion = {
  readonly startTime?: EpochMs;
  readonly endTime?: EpochMs;
  /** A bill's id: the bills older than it are asked for. */
  readonly idLessThan?: string | undefined;
  readonly limit: number;
};

/** How the ledger of one product type is read: by the classic API or by the API of unified accounts. */
export type BillsApi = {
  readonly operation: BillsOperation;
  /**
   * The longest window, 1 ms shorter than the longest span that the exchange allows. A window
   * `[from, to)` is asked for as `from - 1` to `to`. These bounds lie just outside the window, so its
   * first and last millisecond are served whether or not the exchange includes the bounds.
   */
  readonly windowMaxMs: number;
  /** The disorder of ids against times that is known beforehand; see `IdOrder.disorderMs`. */
  readonly idDisorderMs: number;
  query(question: BillsQuestion): Query;
  /** The field of the answer's data that lists the rows. */
  readonly rowsName: string;
  /** Reads a row. Never throws: for a row that is not a bill it returns the fault. */
  read(row: unknown): BillReading;
  /** The id and the time of a row, even where other fields are broken; undefined where it has none. */
  idOf(row: unknown): string | undefined;
  timeOf(row: unknown): EpochMs | undefined;
};

export type BillsOperation = typeof accountBills | typeof financialRecords;

export const billsOperations: readonly BillsOperation[] = [accountBills, financialRecords];

const classicApi = (productType: ClassicProductType): BillsApi => ({
  operation: accountBills,
  windowMaxMs: intervalMaxMs - 1,
  idDisorderMs: 0,
  query: ({ idLessThan, ...question }) => ({
    productType,
    ...spanQuery(question),
    ...(idLessThan === undefined ? {} : { idLessThan }),
  }),
  rowsName: "bills",
  read: readBill,
  idOf: billIdOf,
  timeOf: cTimeOf,
});

const unifiedApi = (productType: UnifiedProductType): BillsApi => ({
  operation: financialRecords,
  windowMaxMs: unifiedIntervalMaxMs - 1,
  // A funding row carries the time of its settlement, but its id is made later: by 1,472 ms in a public row.
  idDisorderMs: 2_000,
  query: ({ idLessThan, ...question }) => ({
    category: categoryOf(productType),
    ...spanQuery(question),
    ...(idLessThan === undefined ? {} : { cursor: idLessThan }),
  }),
  rowsName: "list",
  read: (row) => readUnifiedBill(productType, row),
  idOf: unifiedBillIdOf,
  timeOf: unifiedBillTimeOf,
});

const spanQuery = ({ startTime, endTime, limit }: Omit<BillsQuestion, "idLessThan">): Query => ({
  ...(startTime === undefined ? {} : { startTime: String(startTime) }),
  ...(endTime === undefined ? {} : { endTime: String(endTime) }),
  limit: String(limit),
});

const makeApi = (type: ProductType): BillsApi =>
  isUnified(type) ? unifiedApi(type) : classicApi(type);

const apis: ReadonlyMap<ProductType, BillsApi> = new Map(
  productTypes.map((type) => [type, makeApi(type)]),
);

/** The tables may hold product types that the configuration does not accept: their prefix decides the API. */
export const billsApiOf = (productType: ProductType): BillsApi =>
  apis.get(productType) ?? makeApi(productType);
