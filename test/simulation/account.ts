import { isUnified, type ProductType } from "../../src/contract/product-types.ts";
import { epochMs } from "../../src/contract/time.ts";
import { alwaysClassic, isInTransit, type ModeChange, modeAt } from "../../src/sandbox/ledger.ts";
import type { AccountMode } from "../../src/sync/account-state.ts";
import type { AccountKind, History } from "./history.ts";

/** The exchange's record of the account: its modes, and since when. */
export type SimulatedAccount = {
  /** All product types of which it ever has bills. */
  readonly productTypes: readonly ProductType[];
  readonly changes: readonly ModeChange[];
  /** Its mode; undefined while it changes from one to the other. */
  modeAt(time: number): AccountMode | undefined;
  /** Whether its mode stays the same in this span of time, including both ends. */
  isSteady(from: number, to: number): boolean;
  /** Whether it has bills of the product type at that time. */
  has(productType: ProductType, time: number): boolean;
};

export const modeOfType = (productType: ProductType): AccountMode =>
  isUnified(productType) ? "unified" : "classic";

/** @param start when the history begins, ms since the Unix epoch. */
export function simulatedAccount({ account, ledger }: History, start: number): SimulatedAccount {
  const changes = account === undefined ? alwaysClassic : changesOf(account, start);
  const modeOf = (time: number): AccountMode | undefined => {
    const mode = modeAt(changes, time);
    if (isInTransit(mode)) return undefined;
    return mode === "classic" ? "classic" : "unified";
  };
  const isEver = (mode: string) => changes.some((change) => change.mode === mode);
  return {
    productTypes: [
      ...(isEver("classic") ? ledger.productTypes : []),
      ...(account?.productTypes ?? []),
    ],
    changes,
    modeAt: modeOf,
    isSteady: (from, to) =>
      modeOf(from) !== undefined && changes.every(({ at }) => at <= from || at > to),
    has: (productType, time) => modeOf(time) === modeOfType(productType),
  };
}

const changesOf = ({ modes }: AccountKind, start: number): readonly ModeChange[] =>
  modes.map(({ atMs, mode }, index) => ({
    at: index === 0 ? Number.NEGATIVE_INFINITY : epochMs(start + atMs),
    mode,
  }));
