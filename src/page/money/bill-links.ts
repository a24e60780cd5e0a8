import { type Html, html } from "../html.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { type ContractPart, contractParts, type PartName } from "./contract-parts.ts";
import { type Line, type LineName, lineNamed } from "./lines.ts";

/** Which bills of the selection: those of any of these lines or parts, and of a contract. */
export type BillFilter = {
  /** All where there are none. */
  readonly pieces: readonly (Line | ContractPart)[];
  /** Empty for bills that name none. */
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
    readonly pieces?: readonly (LineName | PartName)[];
    readonly symbol?: string;
    readonly from?: string;
    readonly to?: string;
  } = {},
): string {
  const ofPieces = pieces.map((name) => `&of=${name}`).join("");
  const ofSymbol = symbol === undefined ? "" : `&${new URLSearchParams({ symbol })}`;
  return `/bills?${baseOf(selection)}&from=${from}&to=${to}${ofPieces}${ofSymbol}`;
}

// A page has a thousand such addresses: what is the same in all of them is put together once.
const bases = new WeakMap<PageSelection, string>();

function baseOf(selection: PageSelection): string {
  const known = bases.get(selection);
  if (known !== undefined) return known;
  const query = new URLSearchParams(queryOf(selection));
  query.delete("from");
  query.delete("to");
  bases.set(selection, `${query}`);
  return `${query}`;
}

/** What such an address asks for; a name that is none narrows nothing. */
export const billFilterOf = (asked: URLSearchParams): BillFilter => ({
  pieces: asked.getAll("of").flatMap((name) => lineNamed(name) ?? partNamed(name) ?? []),
  symbol: asked.get("symbol") ?? undefined,
});

const partNamed = (name: string): ContractPart | undefined =>
  contractParts.find((part) => part.name === name);

/** A figure that leads to its bills; nothing leads from a dash. */
export const linked = (figure: Html, address: string): Html =>
  figure.text.includes("<data ")
    ? html`<a class="to-bills" href="${address}">${figure}</a>`
    : figure;
