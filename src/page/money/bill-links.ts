import { type Html, html } from "../html.ts";
import { onceFor } from "../once.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { type ContractPart, contractParts } from "./contract-parts.ts";
import { groupNamed, type LineGroup } from "./line-groups.ts";
import { type Line, lineNamed } from "./lines.ts";

/** What an address can narrow bills to. */
export type BillPiece = Line | LineGroup | ContractPart;

/** Narrows the selection's bills to any of these pieces, and to a contract. */
export type BillFilter = {
  /** Empty for all bills. */
  readonly pieces: readonly BillPiece[];
  /** The contract; empty for bills that name none. Undefined for all bills. */
  readonly symbol: string | undefined;
};

/** The address of the page of bills. */
export function billsAddress(
  selection: PageSelection,
  {
    pieces = [],
    symbol,
    from = selection.from,
    to = selection.to,
  }: {
    readonly pieces?: readonly BillPiece["name"][];
    readonly symbol?: string;
    readonly from?: string;
    readonly to?: string;
  } = {},
): string {
  const ofPieces = pieces.map((name) => `&of=${name}`).join("");
  const ofSymbol = symbol === undefined ? "" : `&${new URLSearchParams({ symbol })}`;
  return `/bills?${baseOf(selection)}&from=${from}&to=${to}${ofPieces}${ofSymbol}`;
}

// A page has a thousand such addresses: the part that they share is built once.
const baseOf = onceFor((selection: PageSelection): string => {
  const query = new URLSearchParams(queryOf(selection));
  query.delete("from");
  query.delete("to");
  return `${query}`;
});

/** The filter of such an address. An unknown name is ignored. */
export const billFilterOf = (asked: URLSearchParams): BillFilter => ({
  pieces: asked.getAll("of").flatMap((name) => pieceNamed(name) ?? []),
  symbol: asked.get("symbol") ?? undefined,
});

const pieceNamed = (name: string): BillPiece | undefined =>
  lineNamed(name) ?? groupNamed(name) ?? contractParts.find((part) => part.name === name);

/** A figure as a link to its bills. A dash is no link. */
export const linked = (figure: Html, address: string): Html =>
  figure.text.includes("<data ")
    ? html`<a class="to-bills" href="${address}">${figure}</a>`
    : figure;
