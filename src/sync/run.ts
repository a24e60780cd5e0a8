import type { ProductType } from "../contract/product-types.ts";
import { syncBills } from "./bills.ts";
import type { HeldAccount } from "./store.ts";
import type { BillsDeps, StreamReport } from "./stream-run.ts";

/** An account as a run needs it. */
export type SyncAccount = {
  readonly name: string;
  readonly productTypes: readonly ProductType[];
};

export type RunDeps = Omit<BillsDeps, "held" | "client" | "exchangeNow"> & {
  readonly exchangeOf: (account: SyncAccount) => Pick<BillsDeps, "client" | "exchangeNow">;
  /** @throws AccountHeldError where another run holds it. */
  readonly holdAccount: (account: string) => Promise<HeldAccount & AsyncDisposable>;
};

export type AccountReport = {
  readonly account: string;
  readonly streams: readonly StreamReport[];
  /** What ended the whole account; its streams are then not told apart. */
  readonly error: unknown;
};

/** Syncs one account while holding it. Never throws: what failed is in the report. */
export async function syncAccount(deps: RunDeps, account: SyncAccount): Promise<AccountReport> {
  try {
    await using held = await deps.holdAccount(account.name);
    const streams = await syncBills(
      { ...deps, ...deps.exchangeOf(account), held },
      account.name,
      account.productTypes,
    );
    return { account: account.name, streams, error: undefined };
  } catch (error) {
    return { account: account.name, streams: [], error };
  }
}

/** Whether a report leaves nothing to be done: every window walked, no row in quarantine. */
export function isComplete({ error, streams }: AccountReport): boolean {
  return (
    error === undefined &&
    streams.every(
      ({ error, windows, rejected }) =>
        error === undefined && windows.walked === windows.planned && rejected === 0,
    )
  );
}
