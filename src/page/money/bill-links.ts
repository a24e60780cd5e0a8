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
  const query = new URLSearchParams(queryOf(selection, { from, to }));
  for (const name of lines) query.append("line", name);
  if (symbol !== undefined) query.set("symbol", symbol);
  return `/bills?${query}`;
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
