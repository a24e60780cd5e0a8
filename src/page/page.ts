import type { EpochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { timeTag } from "./format.ts";
import { type Html, html } from "./html.ts";
import { pageFoot, pageHead } from "./layout.ts";
import { walletSections } from "./sections.ts";
import { selectionOf } from "./selection.ts";
import { readWallets } from "./wallets.ts";

/**
 * Writes the page, a part as soon as it is known: what can be trusted first. All of it is of one
 * moment.
 *
 * @param asked the query of the page's address.
 */
export async function writePage(
  tx: Transaction,
  asked: URLSearchParams,
  write: (part: Html) => void,
): Promise<void> {
  const now = await readExchangeTime(tx);
  const wallets = await readWallets(tx);
  const selection = selectionOf(asked, wallets, now);
  const sections = selection === undefined ? [] : walletSections;
  write(pageHead("bill-sync", sections));
  if (selection !== undefined) {
    for (const { render } of sections) write(await render({ tx, selection, wallets, now }));
  }
  write(pageFoot(footNotes(now)));
}

const footNotes = (now: EpochMs): Html =>
  html`<p>Days are UTC. Coins are never added up. Amounts are rounded for reading: rest the pointer on one, or tick “all digits”. Read ${timeTag(now)}.</p>`;
