import { isUnified, type ProductType } from "../contract/product-types.ts";
import { dayMs, type EpochMs } from "../contract/time.ts";

/** Which of the exchange's two APIs serves an account: each refuses the other kind. */
export type AccountMode = "classic" | "unified";

export const modeOf = (productType: ProductType): AccountMode =>
  isUnified(productType) ? "unified" : "classic";

/** A product type that the exchange refuses to an account's key. Times are the exchange's. */
export type NotAvailable = {
  readonly productType: ProductType;
  /** When it was refused first. */
  readonly since: EpochMs;
  /** When it was last asked for. */
  readonly askedAt: EpochMs;
  /** What the exchange said. */
  readonly reason: string;
};

/** A product type that was read, until its account came into the other mode. */
export type Closed = { readonly productType: ProductType; readonly closedAt: EpochMs };

/** What runs were told of an account. */
export type AccountState = {
  readonly mode: { readonly is: AccountMode; readonly since: EpochMs } | undefined;
  readonly notAvailable: readonly NotAvailable[];
  readonly closed: readonly Closed[];
};

/** Which product types an account's user wants to be read. */
export type Wanted = {
  /** Those that were named; with `readsAll`, all that there may be. */
  readonly productTypes: readonly ProductType[];
  /** Whether those are read that the account has and its key can read. Default false. */
  readonly readsAll?: boolean;
};

// The exchange may grant it at any time, and each question costs a request of every run.
const askAgainMs = dayMs;

/**
 * What an account in this mode is asked for: not what its key was refused within a day, unless that is
 * all there is.
 * @param now the exchange's time.
 */
export function askedFor(
  { productTypes, readsAll = false }: Wanted,
  { notAvailable }: Pick<AccountState, "notAvailable">,
  mode: AccountMode,
  now: EpochMs,
): readonly ProductType[] {
  const own = productTypes.filter((productType) => modeOf(productType) === mode);
  if (!readsAll) return own;
  const isRefused = (productType: ProductType) =>
    notAvailable.some(
      (one) => one.productType === productType && Math.abs(now - one.askedAt) < askAgainMs,
    );
  const left = own.filter((productType) => !isRefused(productType));
  return left.length > 0 ? left : own;
}
