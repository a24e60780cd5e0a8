import { formatCount } from "../../terminal/format.ts";
import { amount, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { card, type WalletSection } from "../section.ts";
import { type PageSelection, queryOf } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { daysShownMax } from "./chart-stretches.ts";
import type { Line } from "./lines.ts";
import { readText, stretchName } from "./parts.ts";
import { hasDays } from "./span.ts";
import { byMonth, linesIn, together } from "./stretches.ts";
import { type Stretch, walletDays } from "./wallet-days.ts";

// This many lines between opening and closing fit on a usual screen.
const fittingMax = 8;

const about = { id: "rollforward", title: "Rollforward" };

/** Opening, movements and closing of every day or month, newest first. */
export const rollforward: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection } = context;
    const days = await walletDays(context);
    const whole = together(days);
    if (whole === undefined) return html``;
    const stretches = (selection.by === "month" ? byMonth(days) : days).toReversed();
    const shown = stretches.slice(0, daysShownMax);
    const moving = linesIn(days);
    const name = `The ${selection.by === "month" ? "months" : "days"} of ${selection.coin}`;
    return card(
      { ...about, about: html`${selection.coin} ${switchOf(selection)}` },
      html`
${moving.length > fittingMax ? html`<p class="note wide">The table scrolls sideways: closing balances and bills are at its right end.</p>` : ""}
${shown.length < stretches.length ? html`<p class="note">The newest ${formatCount(shown.length)} of ${formatCount(stretches.length)} days; the total is of all. Choose months, or fewer days, to see the others.</p>` : ""}
<div class="scroll tall" tabindex="0" role="region" aria-label="${name}"><table class="rollforward compact">
<thead><tr><th scope="col">${selection.by === "month" ? "Month" : "Day"}</th>${figureHead("Opening")}${moving.map(({ title }) => figureHead(title))}${figureHead("Closing")}${figureHead("Bills")}<th scope="col">Read</th></tr></thead>
<tbody>${shown.map((stretch) => rowOf(stretch, stretchName(stretch), moving, selection))}</tbody>
<tfoot>${rowOf(whole, total, moving, selection)}</tfoot></table></div>`,
    );
  },
};

const total = "Total";

const figureHead = (title: string): Html => html`<th scope="col" class="figure">${title}</th>`;

function switchOf(selection: PageSelection): Html {
  const choice = (by: PageSelection["by"], title: string) =>
    selection.by === by
      ? html`<b aria-current="true">${title}</b>`
      : html`<a href="${queryOf(selection, { by })}#${about.id}">${title}</a>`;
  return html`<span class="switch">${choice("day", "days")} ${choice("month", "months")}</span>`;
}

function rowOf(
  stretch: Stretch,
  name: string,
  moving: readonly Line[],
  selection: PageSelection,
): Html {
  const { from, to, opening, closing, moved, bills } = stretch;
  const cell = (title: string, figure: Html) =>
    html`<td class="figure" data-name="${title}">${figure}</td>`;
  const all = billsAddress(selection, { from, to });
  return html`
<tr class="${stretch.isComplete || name === total ? "" : "unread"}"><th scope="row">${name}</th>${cell("Opening", amount(opening, selection))}${moving.map(
    (line) =>
      cell(
        line.title,
        linked(
          movement(moved[line.name], selection),
          billsAddress(selection, { from, to, pieces: [line.name] }),
        ),
      ),
  )}<td class="figure main" data-name="Closing"><b>${amount(closing, selection)}</b></td>${cell("Bills", bills === 0 ? html`<span class="zero">–</span>` : html`<a class="to-bills" href="${all}">${formatCount(bills)}</a>`)}<td>${readText(stretch)}</td></tr>`;
}
