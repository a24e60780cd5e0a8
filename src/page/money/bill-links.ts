import { type Html, html } from "../html.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { type Line, type LineName, lineNamed } from "./lines.ts";

/** Which bills of the selection: those of any of these lines, and of a contract. */
export type BillFilter = {
  /** Of all lines where there are none. */
  readonly lines: readonly Line[];
  /** Empty for bills that name none. */
  readonly symbol: string | undefined;
};

/** The address of the page of bills. */
export function billsAddress(
  selection: PageSelection,
  {
    lines = [],
    symbol,
    from = selection.from,
    to = selection.to,
  }: {
    readonly lines?: readonly LineName[];
    readonly symbol?: string;
    readonly from?: string;
    readonly to?: string;
  } = {},
): string {
  const ofLines = lines.map((name) => `&line=${name}`).join("");
  const ofSymbol = symbol === undefined ? "" : `&${new URLSearchParams({ symbol })}`;
  return `/bills?${baseOf(selection)}&from=${from}&to=${to}${ofLines}${ofSymbol}`;
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

/** What such an address asks for; a line that is none narrows nothing. */
export const billFilterOf = (asked: URLSearchParams): BillFilter => ({
  lines: asked.getAll("line").flatMap((name) => lineNamed(name) ?? []),
  symbol: asked.get("symbol") ?? undefined,
});

/** A figure that leads to its bills; nothing leads from a dash. */
export const linked = (figure: Html, address: string): Html =>
  figure.text.includes("<data ")
    ? html`<a class="to-bills" href="${address}">${figure}</a>`
    : figure;
