import type { EpochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { type Html, type HtmlPart, html } from "./html.ts";
import type { PageSelection, Wallet } from "./selection.ts";

/** What a section of one wallet is made from. All sections of an answer read the same moment. */
export type WalletContext = {
  /** It cannot write. Several statements may be sent at once; they are done one after the other. */
  readonly tx: Transaction;
  readonly selection: PageSelection;
  /** All that can be selected. */
  readonly wallets: readonly Wallet[];
  /** The exchange's time by now. */
  readonly now: EpochMs;
};

/** A part of the page about the wallet that is selected. */
export type WalletSection = {
  /** Of the element, and what the menu leads to. */
  readonly id: string;
  /** As the menu has it. */
  readonly title: string;
  /** Whether there is anything of it. Default yes. */
  readonly isThere?: (context: WalletContext) => Promise<boolean> | boolean;
  /** The whole element: see {@link card}. */
  readonly render: (context: WalletContext) => Promise<Html>;
};

/** A card of the page: a heading, what it is about, and the rest. */
export const card = (
  { id, title, about }: { readonly id: string; readonly title: string; readonly about?: HtmlPart },
  body: HtmlPart,
): Html => html`
<section class="card" id="${id}" aria-labelledby="${id}-title">
<header><h2 id="${id}-title">${title}</h2>${about === undefined ? "" : html`<p class="about">${about}</p>`}</header>
${body}
</section>`;
