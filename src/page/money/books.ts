import { isoTime } from "../../contract/time.ts";
import { shellWord } from "../../printable.ts";
import { formatCounted } from "../../terminal/format.ts";
import { html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import { card, type WalletSection } from "../section.ts";
import { type Day, daysBefore, type PageSelection, queryOf } from "../selection.ts";
import { daysBehind } from "./chart-stretches.ts";
import { exportNames } from "./exports.ts";
import { offNote, offOf, unreadDays } from "./parts.ts";
import { hasDays, tooOldNote } from "./span.ts";
import { walletDays } from "./wallet-days.ts";

const about = { id: "export", title: "Export" };

/** Downloads for an accountant: files of the selected bills, and a month's close. */
export const books: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection, now } = context;
    const { account, product, coin, from, to } = selection;
    const days = await walletDays(context);
    const today = isoTime(now).slice(0, 10);
    const behind = daysBehind(days, context).filter((day) => day < today);
    const unread = unreadDays(days, now) + behind.length;
    const off = offOf(days);
    const { month, isOver } = closeOf(selection, today);
    const files = Object.entries(exportNames).map(
      ([format, title]) =>
        html`<a href="${exportAddress(selection, format)}" download>${title}</a>`,
    );
    return card(
      { ...about, about: `${account} ${product} ${coin}, ${from} to ${to}` },
      html`<p>The bills of these days, with all digits:</p>
<p class="exports">${joined(files, " ")}</p>
${unread === 0 ? "" : html`<p class="not-read">${icon("warn")} ${formatCounted(unread, "day")} not all read: a file may lack bills, too</p>`}
${await tooOldNote(context)}${off.days > 0 ? html`<p>${offNote(off, selection)}: a file lacks what explains it, too</p>` : ""}
<p class="close">The close of ${month} for an auditor: what was read, rollforward, breaks with their notes, and digests to check the rows by${isOver ? "" : ". This month is not over: the report says so, and has the bills so far"}:</p>
<pre tabindex="0">npm run --silent report -- --month ${month} --account ${shellWord(account)} --format html &gt; ${month}.html</pre>`,
    );
  },
};

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
