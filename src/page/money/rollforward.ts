import { formatCount } from "../../terminal/format.ts";
import { amount, movement } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { icon } from "../icons.ts";
import { card, type WalletSection } from "../section.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { daysShownMax } from "./chart-stretches.ts";
import type { Line } from "./lines.ts";
import { readText, stretchName } from "./parts.ts";
import { hasDays } from "./span.ts";
import { byMonth, isOff, linesIn, together } from "./stretches.ts";
import { type Stretch, walletDays } from "./wallet-days.ts";

// More months than these are rows, as days are.
const monthColumnsMax = 12;
// This many lines between opening and closing fit on a usual screen.
const fittingMax = 9;

const about = { id: "rollforward", title: "Rollforward" };

/**
 * Opening, movements and closing: of each day in a row, newest first, or of each month in a column,
 * oldest first.
 */
export const rollforward: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection } = context;
    const days = await walletDays(context);
    const whole = together(days);
    if (whole === undefined) return html``;
    const { notes, markup, isTall } = rollforwardTable(days, whole, selection);
    const name = `The ${selection.by === "month" ? "months" : "days"} of ${selection.coin}`;
    return card(
      { ...about, about: html`${selection.coin} ${switchOf(selection)}` },
      html`${notes}
<div class="scroll${isTall ? " tall" : ""}" tabindex="0" role="region" aria-label="${name}">${markup}</div>`,
    );
  },
};

type Table = {
  readonly notes: readonly Html[];
  readonly markup: Html;
  /** Whether it may have more rows than a screen. */
  readonly isTall: boolean;
};

/** @param whole the days as one stretch. */
export function rollforwardTable(
  days: readonly Stretch[],
  whole: Stretch,
  selection: PageSelection,
): Table {
  const entries = entriesOf(linesIn(days), selection);
  if (selection.by === "day") return rowsTable(days, whole, entries);
  const months = byMonth(days);
  return months.length > monthColumnsMax
    ? rowsTable(months, whole, entries)
    : columnsTable(months, whole, entries);
}

/** A figure of every stretch: a column where stretches are rows, and a row where they are columns. */
type Entry = { readonly title: string; readonly figureOf: (stretch: Stretch) => Html };

type Entries = Readonly<Record<"opening" | "closing" | "bills", Entry>> & {
  readonly moving: readonly Entry[];
};

const entriesOf = (moving: readonly Line[], selection: PageSelection): Entries => ({
  opening: { title: "Opening", figureOf: ({ opening }) => amount(opening, selection) },
  moving: moving.map(({ name, title }) => ({
    title,
    figureOf: ({ from, to, moved }) =>
      linked(
        movement(moved[name], selection),
        billsAddress(selection, { from, to, pieces: [name] }),
      ),
  })),
  closing: {
    title: "Closing",
    figureOf: ({ closing }) => html`<b>${amount(closing, selection)}</b>`,
  },
  bills: {
    title: "All bills",
    figureOf: ({ from, to, bills }) =>
      bills === 0
        ? html`<span class="zero">–</span>`
        : html`<a class="to-bills" href="${billsAddress(selection, { from, to })}">${formatCount(bills)}</a>`,
  },
});

function rowsTable(
  stretches: readonly Stretch[],
  whole: Stretch,
  { opening, moving, closing, bills }: Entries,
): Table {
  // The last column stays where the others scroll.
  const columns = [opening, ...moving, bills, closing];
  const shown = stretches.toReversed().slice(0, daysShownMax);
  const rowOf = (stretch: Stretch, name: HtmlPart) => html`
<tr class="${stretch === whole ? "" : markOf(stretch)}"><th scope="row">${name}</th>${columns.map(({ title, figureOf }) => cell(title, figureOf(stretch)))}</tr>`;
  return {
    notes: [
      ...(moving.length > fittingMax
        ? [html`<p class="note wide">The lines between opening and closing scroll sideways.</p>`]
        : []),
      ...(shown.length < stretches.length
        ? [
            html`<p class="note">The newest ${formatCount(shown.length)} of ${formatCount(stretches.length)} days; the total is of all. Choose months, or fewer days, to see the others.</p>`,
          ]
        : []),
    ],
    isTall: true,
    markup: html`<table class="rollforward compact">
<thead><tr><th scope="col">Time</th>${columns.map(({ title }) => head(title))}</tr></thead>
<tbody>${shown.map((stretch) => rowOf(stretch, nameOf(stretch)))}</tbody>
<tfoot>${rowOf(whole, "Total")}</tfoot></table>`,
  };
}

function columnsTable(
  months: readonly Stretch[],
  whole: Stretch,
  { opening, moving, closing, bills }: Entries,
): Table {
  const rowOf = ({ title, figureOf }: Entry, name: string) => html`
<tr class="${name}"><th scope="row">${title}</th>${months.map((month) => cell(monthName(month), figureOf(month)))}${cell("Total", figureOf(whole))}</tr>`;
  return {
    notes: [],
    isTall: false,
    markup: html`<table class="rollforward months compact">
<thead><tr><th scope="col"><span class="unseen">Line</span></th>${months.map((month) => head(nameOf(month, monthName(month))))}${head("Total")}</tr></thead>
<tbody>${rowOf(opening, "balance")}${moving.map((line) => rowOf(line, ""))}${rowOf(closing, "balance")}${rowOf(bills, "")}</tbody></table>`,
  };
}

const head = (title: HtmlPart): Html => html`<th scope="col" class="figure">${title}</th>`;

const cell = (title: string, figure: Html): Html =>
  title === "Closing" || title === "Total"
    ? html`<td class="figure main">${figure}</td>`
    : html`<td class="figure" data-name="${title}">${figure}</td>`;

const nameOf = (stretch: Stretch, name = stretchName(stretch)): HtmlPart =>
  html`${name}${stretch.isComplete ? "" : html` ${readText(stretch)}`}${isOff(stretch) ? html` ${offMark}` : ""}`;

const offMark = html`<span class="is-off" title="its balances do not follow from its bills">${icon("bad")}<span class="unseen">does not add up</span></span>`;

const markOf = (stretch: Stretch): string =>
  isOff(stretch) ? "off" : stretch.isComplete ? "" : "unread";

/** A month, or the days of it: 2026-08, or 2026-08, 26 to 31. */
const monthName = (month: Stretch): string =>
  stretchName(month).length === "2026-08".length
    ? stretchName(month)
    : `${month.from.slice(0, 7)}, ${month.from.slice(8)} to ${month.to.slice(8)}`;

function switchOf(selection: PageSelection): Html {
  const choice = (by: PageSelection["by"], title: string) =>
    selection.by === by
      ? html`<b aria-current="true">${title}</b>`
      : html`<a href="${queryOf(selection, { by })}#${about.id}">${title}</a>`;
  return html`<span class="switch">${choice("day", "days")} ${choice("month", "months")}</span>`;
}
