import type { EpochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { type PageSelection, selectionOf, type Wallet } from "./selection.ts";
import { readWallets } from "./wallets.ts";

/** What an address asks the page for. */
export type Shown = {
  /** Undefined if no wallet is stored. */
  readonly selection: PageSelection | undefined;
  /** All wallets of the selected account. */
  readonly wallets: readonly Wallet[];
  /** What the address names of a wallet and nobody has, so that something else is shown. */
  readonly missed: readonly string[];
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

/** An account may be asked for by a part of its name. */
const missedOf = (query: URLSearchParams, selection: PageSelection): readonly string[] =>
  (["account", "product", "coin"] as const).flatMap((name) => {
    const [asked, shown] = [query.get(name) ?? "", selection[name]];
    const isShown =
      name === "account" ? shown.toLowerCase().includes(asked.toLowerCase()) : shown === asked;
    return asked === "" || isShown ? [] : [asked];
  });
