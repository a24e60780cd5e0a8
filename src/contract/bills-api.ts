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

/** What is asked for one page; without times, for the newest. */
export type BillsQuestion = {
  readonly startTime?: EpochMs;
  readonly endTime?: EpochMs;
  /** A bill's id: what is older is asked for. */
  readonly idLessThan?: string | undefined;
  readonly limit: number;
};

/** How the ledger of one product type is read: by the classic API, or by that of unified accounts. */
export type BillsApi = {
  readonly operation: BillsOperation;
  /**
   * The longest window. It is asked for with one millisecond more on both sides, so its first
   * and last millisecond come whether or not the exchange includes the bounds, and that is
   * still no longer than the exchange allows: from - 1 to the millisecond after the last, `to`.
   */
  readonly windowMaxMs: number;
  /** By how much a bill's id may lie beside its time, as far as that is known beforehand. */
  readonly idDisorderMs: number;
  query(question: BillsQuestion): Query;
  /** The member of the answer's data that lists the rows. */
  readonly rowsName: string;
  /** Never throws: a row that is not a bill comes back as its fault. */
  read(row: unknown): BillReading;
  /** The id and the time of a row, whatever else is wrong with it; undefined where it has none. */
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
  // A funding row has the time of its settlement, and an id that was seen 1,472 ms later.
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

/** The tables may hold names that no configuration would take: each is read as its prefix says. */
export const billsApiOf = (productType: ProductType): BillsApi =>
  apis.get(productType) ?? makeApi(productType);
