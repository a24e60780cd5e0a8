import type { EpochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { type Missed, missedOf } from "./missed.ts";
import { type PageSelection, selectionOf, type Wallet } from "./selection.ts";
import { readWallets } from "./wallets.ts";

/** What an address asks the page for. */
export type Shown = {
  /** Undefined if no wallet is stored. */
  readonly selection: PageSelection | undefined;
  /** All wallets of the selected account. */
  readonly wallets: readonly Wallet[];
  /** What the address asks for and does not exist, so that something else is shown. */
  readonly missed: readonly Missed[];
  /** The text that listed accounts' names contain; empty for all accounts. */
  readonly find: string;
};

/** @param now the exchange's time. */
export async function readShown(
  tx: Transaction,
  query: URLSearchParams,
  now: EpochMs,
): Promise<Shown> {
  const wallets = await readWallets(tx, query);
  const selection = selectionOf(query, wallets, now);
  return {
    wallets,
    selection,
    missed: selection === undefined ? [] : missedOf(query, selection),
    find: query.get("find")?.trim() ?? "",
  };
}
