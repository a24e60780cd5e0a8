import { formatCount } from "../../terminal/format.ts";
import { amount, discrepancy, movement } from "../format.ts";
import { type Html, type HtmlPart, html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import { card, type WalletSection } from "../section.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { daysShownMax } from "./chart-stretches.ts";
import {
  earningColumns,
  type LineGroup,
  linesOf,
  movedBy,
  otherColumns,
  resultGroup,
} from "./line-groups.ts";
import type { Line } from "./lines.ts";
import { readText, stretchName } from "./parts.ts";
import { hasDays } from "./span.ts";
import { byMonth, isOff, linesIn, together } from "./stretches.ts";
import { type Stretch, walletDays } from "./wallet-days.ts";

// More months than these are rows, as days are.
const monthColumnsMax = 12;
// This many rows are shown whole: a month by days. More rows scroll in a frame.
const wholeMax = 31;
// This many columns fit on a usual screen.
const fittingMax = 13;

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
<div class="scroll${isTall ? " tall" : ""}" tabindex="0" role="region" aria-label="${name}">${markup}</div>
${columnsNote(linesIn(days), selection)}`,
    );
  },
};

type Table = {
  readonly notes: readonly Html[];
  readonly markup: Html;
  /** Whether its rows scroll in a frame. */
  readonly isTall: boolean;
};

/** @param whole the days as one stretch. */
export function rollforwardTable(
  days: readonly Stretch[],
  whole: Stretch,
  selection: PageSelection,
): Table {
  const lines = linesIn(days);
  const months = byMonth(days);
  if (selection.by === "month" && months.length <= monthColumnsMax) {
    return columnsTable(months, whole, entriesOf(ofLines(lines), selection));
  }
  const columns = selection.hasAllLines ? ofLines(lines) : ofGroups(lines);
  const stretches = selection.by === "day" ? days : months;
  return rowsTable(stretches, whole, entriesOf(columns, selection));
}

type Piece = Line | LineGroup;

/** What stands between opening and closing: what is earned or lost, whose sum is the result, and all else. */
type Pieces = { readonly earned: readonly Piece[]; readonly others: readonly Piece[] };

const ofLines = (lines: readonly Line[]): Pieces => ({
  earned: lines.filter(({ isResult }) => isResult),
  others: lines.filter(({ isResult }) => !isResult),
});

/** So few columns that all of them fit on a screen. A group of which one line is used is that line. */
function ofGroups(used: readonly Line[]): Pieces {
  const shown = (column: Piece) => {
    const own = linesOf(column).filter((line) => used.includes(line));
    return own.length > 1 ? [column] : own;
  };
  return { earned: earningColumns.flatMap(shown), others: otherColumns.flatMap(shown) };
}

/** Names what the columns of several lines hold; empty where each line has its own. */
function columnsNote(used: readonly Line[], { by, hasAllLines }: PageSelection): Html {
  if (by === "month" || hasAllLines) return html``;
  const { earned, others } = ofGroups(used);
  const texts = [...earned, ...others].flatMap((piece) => {
    const own = linesOf(piece).filter((line) => used.includes(line));
    return own.length > 1
      ? [
          html`<span class="group">${piece.title}</span>: ${own.map(({ title }) => title).join(", ")}.`,
        ]
      : [];
  });
  return texts.length === 0 ? html`` : html`<p class="note">${joined(texts, " ")}</p>`;
}

/** A figure of every stretch: a column where stretches are rows, and a row where they are columns. */
type Entry = {
  readonly title: string;
  readonly figureOf: (stretch: Stretch) => Html;
  /** Whether it sums up others. */
  readonly isSum?: true;
};

type Entries = Readonly<Record<"opening" | "result" | "closing" | "bills", Entry>> &
  Readonly<Record<keyof Pieces, readonly Entry[]>>;

function entriesOf({ earned, others }: Pieces, selection: PageSelection): Entries {
  const entryOf = (piece: Piece): Entry => ({
    title: piece.title,
    figureOf: (stretch) => {
      const { from, to } = stretch;
      const moved = movedBy(stretch, piece);
      // What no bill explains is neither a gain nor a loss.
      const figure = isUnexplained(piece)
        ? discrepancy(moved, selection)
        : movement(moved, selection);
      return linked(figure, billsAddress(selection, { from, to, pieces: [piece.name] }));
    },
  });
  return {
    opening: { title: "Opening", figureOf: ({ opening }) => amount(opening, selection) },
    earned: earned.map(entryOf),
    result: { ...entryOf(resultGroup), isSum: true },
    others: others.map(entryOf),
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
  };
}

const isUnexplained = ({ name }: Piece): boolean => name === "difference" || name === "unsettled";

function rowsTable(
  stretches: readonly Stretch[],
  whole: Stretch,
  { opening, earned, result, others, closing, bills }: Entries,
): Table {
  const columns = [opening, ...earned, result, ...others, bills, closing];
  const shown = stretches.toReversed().slice(0, daysShownMax);
  const isTall = shown.length > wholeMax;
  const rowOf = (stretch: Stretch, name: HtmlPart) => html`
<tr class="${stretch === whole ? "" : markOf(stretch)}"><th scope="row">${name}</th>${columns.map((entry) => cell(entry, stretch))}</tr>`;
  return {
    notes: [
      ...(isTall
        ? [html`<p class="note in-frame">The ${shown.length} rows scroll in their frame.</p>`]
        : []),
      ...(columns.length > fittingMax
        ? [html`<p class="note wide">The columns scroll sideways, up to the closing balance.</p>`]
        : []),
      ...(shown.length < stretches.length
        ? [
            html`<p class="note">The newest ${formatCount(shown.length)} of ${formatCount(stretches.length)} days; the total is of all. Choose months, or fewer days, to see the others.</p>`,
          ]
        : []),
    ],
    isTall,
    markup: html`<table class="rollforward compact${columns.length > fittingMax ? " all-lines" : ""}">
<thead><tr><th scope="col">Time</th>${columns.map(({ title, isSum }) => head(title, isSum))}</tr></thead>
<tbody>${shown.map((stretch) => rowOf(stretch, nameOf(stretch)))}</tbody>
<tfoot>${rowOf(whole, "Total")}</tfoot></table>`,
  };
}

function columnsTable(
  months: readonly Stretch[],
  whole: Stretch,
  { opening, earned, result, others, closing, bills }: Entries,
): Table {
  const rowOf = ({ title, figureOf }: Entry, name: string) => html`
<tr class="${name}"><th scope="row">${title}</th>${months.map((month) => html`<td class="figure" data-name="${monthName(month)}">${figureOf(month)}</td>`)}<td class="figure main">${figureOf(whole)}</td></tr>`;
  return {
    notes: [],
    isTall: false,
    markup: html`<table class="rollforward months compact">
<thead><tr><th scope="col"><span class="unseen">Line</span></th>${months.map((month) => head(nameOf(month, monthName(month))))}${head("Total")}</tr></thead>
<tbody>${rowOf(opening, "balance")}${earned.map((line) => rowOf(line, ""))}${rowOf(result, "sum")}${others.map((line) => rowOf(line, ""))}${rowOf(closing, "balance")}${rowOf(bills, "")}</tbody></table>`,
  };
}

const head = (title: HtmlPart, isSum?: true): Html =>
  html`<th scope="col" class="figure${isSum ? " sum" : ""}">${title}</th>`;

const cell = ({ title, figureOf, isSum }: Entry, stretch: Stretch): Html =>
  title === "Closing"
    ? html`<td class="figure main">${figureOf(stretch)}</td>`
    : html`<td class="figure${isSum ? " sum" : ""}" data-name="${title}">${figureOf(stretch)}</td>`;

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
  const { by, hasAllLines } = selection;
  const other = { hasAllLines: hasAllLines ? undefined : (true as const) };
  const columns =
    by === "month"
      ? ""
      : html` <a href="${queryOf(selection, other)}#${about.id}">${hasAllLines ? "fewer columns" : "a column for each line"}</a>`;
  return html`<span class="switch">${choice("day", "days")} ${choice("month", "months")}${columns}</span>`;
}
