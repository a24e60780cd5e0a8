import type { ProductType } from "../contract/product-types.ts";
import type { Credentials } from "../exchange/client.ts";

export type Account = {
  readonly name: string;
  /** Those that its user named; with `readsAll`, all that there may be. */
  readonly productTypes: readonly ProductType[];
  /**
   * Whether its user named none: of `productTypes`, those are read that the account has and its key
   * can read. Default false: all of them are to be read.
   */
  readonly readsAll?: boolean;
  /** Absent where a command does not need them. */
  readonly credentials?: Credentials;
  /** Whether its key is of demo trading. Default false. */
  readonly demo?: boolean;
  /** Whether its loan-to-value is synced: most accounts have no loan. */
  readonly ltv?: boolean;
  /** A parent account's risk units; none for a risk unit's own account. */
  readonly riskUnitIds?: readonly string[];
};
