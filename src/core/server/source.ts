import type { z } from "zod";
import type { EpochMs } from "../../lib/time.ts";
import type { ClassicProductType, ProductType, Wallet } from "../contract/product-types.ts";
import type { WithdrawingWallet } from "../contract/withdrawals.ts";

/**
 * An account's mode as the exchange words it: served by v2, by v3, or changing from one to the other.
 * Words that are not listed also mean that the account is changing.
 */
export type WireAccountMode =
  | "classic"
  | "unified"
  | "hybrid"
  | "upgrading"
  | "switching"
  | (string & {});

/** What is asked of a list of bills, under the names of all operations. */
export type ListQuery = {
  readonly coin?: string | undefined;
  readonly businessType?: string | undefined;
  /** Of v3: the business type. */
  readonly type?: string | undefined;
  readonly onlyFunding?: "yes" | "no" | undefined;
  readonly idLessThan?: string | undefined;
  /** Of v3: the id that older bills are asked below. */
  readonly cursor?: string | undefined;
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
  readonly limit?: string | undefined;
};

/** `uta-mgt` is the permission to read a unified account: its settings, records and loans; `spot` tells whose key it is. */
export type Permission = "bills" | "loan-to-value" | "spot" | "uta-mgt" | "tax";

/** What the server knows about one API key. */
export type Credential = {
  readonly secret: string;
  readonly passphrase: string;
  /** The user id at the exchange, by which limits are counted. Several keys may share it. */
  readonly uid: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  /** Each mode's API refuses accounts of the other mode. */
  readonly accountMode: WireAccountMode;
  /** The trading environment to which the key belongs. Default both. */
  readonly environment?: "live" | "demo";
};

/** What is known about an API key at the moment. */
export type Credentials = { get(apiKey: string): Credential | undefined };

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
export type TaxRequest = Pick<BillsRequest, "caller" | "now" | "productType" | "limit"> & {
  readonly startTime: EpochMs;
  readonly endTime: EpochMs;
};

/** A validated question for withdrawals. Both times are inclusive. */
export type WithdrawalsRequest = Pick<TaxRequest, "caller" | "now" | "startTime" | "endTime"> & {
  readonly wallet: WithdrawingWallet;
  /** An order's id: older ones are asked for. */
  readonly below: string | undefined;
  readonly limit: number;
};

/** The `data` of a page as it is sent: an empty page has more than one shape (see account-bills.ts). */
export type WirePage = {
  readonly bills: readonly unknown[] | null;
  readonly endId?: string | null;
};

/** An answer that is not a success. A source may return one in place of its data. */
export class Refusal {
  readonly status: number;
  readonly code: string;
  readonly msg: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    msg: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.status = status;
    this.code = code;
    this.msg = msg;
    this.headers = headers;
  }
}

type Asked = Pick<BillsRequest, "caller" | "now">;

/** Where the server's answers come from. */
export type Source = {
  /** What each coin's balance in a wallet is, as a decimal. */
  balances(
    request: Asked & { readonly wallet: Wallet },
  ): Promise<readonly { readonly coin: string; readonly balance: string }[] | Refusal>;
  bills(request: BillsRequest): Promise<WirePage | Refusal>;
  /** Oldest first. Absent where there are none. */
  taxRecords?(request: TaxRequest): Promise<readonly unknown[]>;
  /** Records of withdrawals, newest first. Absent where there are none. */
  withdrawals?(request: WithdrawalsRequest): Promise<readonly unknown[]>;
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

/** A request's parameters, or why they are refused. */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: Readonly<Record<string, string>>,
): z.output<Schema> | Refusal {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return issue === undefined ? illegalTimeRange() : queryRefusal(issue, query);
}

/** The code from public records that fits best: which condition gives which code is not documented. */
function queryRefusal(issue: z.core.$ZodIssue, query: Readonly<Record<string, string>>): Refusal {
  if (issue.code === "unrecognized_keys")
    return new Refusal(400, "40034", `Parameter ${issue.keys.join(", ")} does not exist`);
  const name = String(issue.path[0] ?? "");
  if (name === "endTime" && issue.code === "custom" && query["startTime"] !== undefined)
    return illegalTimeRange();
  if (name === "category") return unknownProduct(name);
  if (query[name] === undefined)
    return new Refusal(400, "40019", `Parameter ${name} cannot be empty`);
  if (name === "productType") return unknownProduct(name);
  return new Refusal(400, "40020", `Parameter ${name} error`);
}

const unknownProduct = (name: string) =>
  new Refusal(400, "400172", `Parameter verification failed ${name}`);

export const illegalTimeRange = () => new Refusal(400, "43111", "param error time range illegal");
