import {
  demoKeyProductTypes,
  type ProductType,
  productTypes,
} from "../core/contract/product-types.ts";
import type { Credentials } from "../core/exchange/client.ts";

export type Account = {
  readonly name: string;
  /** Those that its user named; with `readsAll`, all that there may be. */
  readonly productTypes: readonly ProductType[];
  /**
   * Whether its user named none: of `productTypes`, those are read that the account has and its key
   * can read. Default false: all of them are to be read.
   */
  readonly readsAll?: boolean;
  /** Absent where a command needs no credentials. */
  readonly lookUp?: LookUp;
  /** Whether its key is of demo trading. Default false. */
  readonly demo?: boolean;
  /** Whether its loan-to-value is synced: most accounts have no loan. */
  readonly ltv?: boolean;
  /** A parent account's risk units; none for a risk unit's own account. */
  readonly riskUnitIds?: readonly string[];
  /**
   * The exchange's user, where several accounts here are one user's: they share its rate limit. Default a user of its own.
   */
  readonly uid?: string;
};

/** The accounts of a configuration. */
export type Configured = {
  readonly accounts: readonly Account[];
  /** Those that are configured; `accounts` has those among them that were asked for. */
  readonly accountNames: readonly string[];
  /** False where nothing names an account: `accounts` then has the default's name, and no more is known. */
  readonly namesAccounts: boolean;
};

/**
 * Looks an account's credentials up, each time anew.
 * @throws UsageError that names the account and quotes nothing of what it read.
 */
export type LookUp = () => Credentials;

export type AccountWithCredentials = Account & { readonly credentials: Credentials };

/**
 * The account with its credentials, looked up now. They are nowhere but in what comes back.
 * @throws UsageError where they are not to be had.
 */
export function withCredentials(account: Account): AccountWithCredentials {
  if (account.lookUp === undefined)
    throw new Error(`defect: account ${account.name} has no credentials`);
  return { ...account, credentials: account.lookUp() };
}

/**
 * Of the product types that are named for all accounts, those that a key may read. A key of demo trading cannot
 * read all of them; where it can read none, it reads all that a demo key can.
 */
export function wantedTypes(
  named: readonly ProductType[] | undefined,
  demo: boolean,
): Pick<Account, "productTypes" | "readsAll"> {
  const readable = demo ? demoKeyProductTypes : productTypes;
  const wanted = named?.filter((type) => readable.includes(type)) ?? [];
  return wanted.length > 0 ? { productTypes: wanted } : { productTypes: readable, readsAll: true };
}
