import { isoTime } from "../../contract/time.ts";
import { shellWord } from "../../printable.ts";
import { type Html, html, joined } from "../html.ts";
import type { WalletContext } from "../section.ts";
import { type Day, daysBefore, type PageSelection, queryOf } from "../selection.ts";
import { exportNames } from "./exports.ts";

/** Downloads for an accountant: files of the selected bills, and a month's close. */
export function booksOf({ selection, now }: WalletContext): Html {
  const { month, isOver } = closeOf(selection, isoTime(now).slice(0, 10));
  const files = Object.entries(exportNames).map(
    ([format, title]) => html`<a href="${exportAddress(selection, format)}" download>${title}</a>`,
  );
  return html`<div class="books" id="export"><p class="onward"><a href="#contracts">By contract</a> <a href="#bridge">Opening to closing balance</a></p>
<p class="exports"><span>Its bills, with all digits:</span> ${joined(files, " ")}</p>
<details><summary>The close of ${month}, for an auditor</summary>
<p>What was read, rollforward, breaks with their notes, and digests to check the rows by, as one file${isOver ? "" : ". This month is not over: the report says so, and has the bills so far"}:</p>
<pre tabindex="0">npm run --silent report -- --month ${month} --account ${shellWord(selection.account)} --format html &gt; ${month}.html</pre></details></div>`;
}

const exportAddress = (selection: PageSelection, format: string): string =>
  `/export${queryOf(selection)}&${new URLSearchParams({ format })}`;

/** A month's close that the selection asks for. */
export type Close = { readonly month: string; readonly isOver: boolean };

/**
 * The last selected month that is over. A selection of nothing but the running month has the
 * running one.
 */
export function closeOf({ from, to }: Pick<PageSelection, "from" | "to">, today: Day): Close {
  const running = monthOf(today);
  const last = monthOf(to);
  if (last < running) return { month: last, isOver: true };
  const before = monthOf(daysBefore(`${running}-01`, 1));
  return monthOf(from) <= before
    ? { month: before, isOver: true }
    : { month: running, isOver: false };
}

const monthOf = (day: Day): string => day.slice(0, 7);
