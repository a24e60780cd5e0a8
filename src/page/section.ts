import type { EpochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import type { ReconciledChain } from "../reports/reconciled.ts";
import { type Html, type HtmlPart, html } from "./html.ts";
import type { Missed } from "./missed.ts";
import type { PageSelection, Wallet } from "./selection.ts";

/** What a section is rendered from. All sections of one answer read the same moment. */
export type WalletContext = {
  /** A read-only transaction. Statements sent at once run one after the other. */
  readonly tx: Transaction;
  readonly selection: PageSelection;
  /** All wallets that can be selected. */
  readonly wallets: readonly Wallet[];
  /** What the address asks for and does not exist. Default nothing. */
  readonly missed?: readonly Missed[];
  /** The exchange's time. */
  readonly now: EpochMs;
  /** How far reconcile has checked the selected coin; undefined if it never did. */
  readonly chain?: ReconciledChain | undefined;
};

/** A part of the page about the selected wallet. */
export type WalletSection = {
  /** The id of the element, which the menu links to. */
  readonly id: string;
  /** The title in the menu. */
  readonly title: string;
  /** Whether the section has anything to show. Default yes. */
  readonly isThere?: (context: WalletContext) => Promise<boolean> | boolean;
  /** Renders the whole element: see {@link card}. */
  readonly render: (context: WalletContext) => Promise<Html>;
};

/** A card of the page: a heading, a note on its subject, and the body. */
export const card = (
  { id, title, about }: { readonly id: string; readonly title: string; readonly about?: HtmlPart },
  body: HtmlPart,
): Html => html`
<section class="card" id="${id}" aria-labelledby="${id}-title">
<header><h2 id="${id}-title">${title}</h2>${about === undefined ? "" : html`<p class="about">${about}</p>`}</header>
${body}
</section>`;
