import type {
  ClassicProductType,
  ProductType,
  Wallet,
} from "../../../core/contract/product-types.ts";
import type { WithdrawingWallet } from "../../../core/contract/withdrawals.ts";
import type { Refusal } from "../../../core/server/answer.ts";
import type { EpochMs } from "../../../lib/time.ts";
import type { Credential } from "./credential.ts";

type Caller = Pick<Credential, "uid" | "name">;

/** A validated question for bills. Times are milliseconds since the Unix epoch. */
export type BillsRequest = {
  readonly caller: Caller;
  readonly now: EpochMs;
  readonly productType: ProductType;
  readonly coin: string | undefined;
  readonly businessType: string | undefined;
  readonly onlyFunding: boolean;
  readonly idLessThan: string | undefined;
  readonly startTime: EpochMs | undefined;
  readonly endTime: EpochMs | undefined;
  /** The oldest time of which bills may be served. Undefined where all history is served. */
  readonly horizon: EpochMs | undefined;
  readonly limit: number;
  /**
   * What decides which bills are on a page. Default the source's own: it makes no difference where ids rise with
   * times.
   */
  readonly sortedBy?: "time" | "id" | undefined;
};

/** A validated question for tax records. Both times are inclusive. */
export type TaxRequest = Pick<BillsRequest, "caller" | "now" | "productType"> & Span;

/** A validated question for withdrawals. Both times are inclusive. */
export type WithdrawalsRequest = Pick<BillsRequest, "caller" | "now"> &
  Span & {
    readonly wallet: WithdrawingWallet;
    /** An order's id: older ones are asked for. */
    readonly below: string | undefined;
  };

type Span = Readonly<Record<"startTime" | "endTime", string>> & {
  readonly limit?: string | undefined;
};

/** The `data` of a page as it is sent: an empty page has more than one shape (see account-bills.ts). */
export type WirePage = {
  readonly bills: readonly unknown[] | null;
  readonly endId?: string | null;
};

type Asked = Pick<BillsRequest, "caller" | "now">;

/** Where the server's answers come from. */
export type Source = {
  /** What each coin's balance in a wallet is, as a decimal. */
  balances(
    request: Asked & { readonly wallet: Wallet },
  ): Promise<readonly { readonly coin: string; readonly balance: string }[] | Refusal>;
  bills(request: BillsRequest): Promise<WirePage | Refusal>;
  /** Oldest first. */
  taxRecords(request: TaxRequest): Promise<readonly unknown[]>;
  /** Records of withdrawals, newest first. */
  withdrawals(request: WithdrawalsRequest): Promise<readonly unknown[]>;
  loanToValue(
    request: Asked & { readonly riskUnitId: string | undefined },
  ): Promise<object | Refusal>;
  /** All pairs where no symbol is named. */
  symbols(symbol: string | undefined): Promise<readonly unknown[] | Refusal>;
  /** All contracts of the product type where no symbol is named. */
  contracts(
    productType: ClassicProductType,
    symbol: string | undefined,
  ): Promise<readonly unknown[] | Refusal>;
};

/** What is needed to serve an admitted request. */
export type Context = {
  readonly source: Source;
  readonly query: Readonly<Record<string, string>>;
  readonly now: EpochMs;
  /** The exchange's time: history begins 90 days before it. */
  readonly clock: EpochMs;
  /** Whether the request asks for the demo environment. */
  readonly demo: boolean;
};
