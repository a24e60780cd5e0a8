import { isoTime } from "../../contract/time.ts";
import { shellWord } from "../../printable.ts";
import { formatCounted } from "../../terminal/format.ts";
import { html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import { card, type WalletSection } from "../section.ts";
import { daysBefore, type PageSelection, queryOf } from "../selection.ts";
import { daysBehind } from "./chart-stretches.ts";
import { exportNames } from "./exports.ts";
import { unreadDays } from "./parts.ts";
import { hasDays } from "./span.ts";
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
    const month = closedMonth(selection, today);
    const files = Object.entries(exportNames).map(
      ([format, title]) =>
        html`<a href="${exportAddress(selection, format)}" download>${title}</a>`,
    );
    return card(
      { ...about, about: `${account} ${product} ${coin}, ${from} to ${to}` },
      html`<p>The bills of these days, with all digits:</p>
<p class="exports">${joined(files, " ")}</p>
${unread === 0 ? "" : html`<p class="not-read">${icon("warn")} ${formatCounted(unread, "day")} not all read: a file may lack bills, too</p>`}
<p>A month’s close for an auditor: what was read, rollforward, breaks with their notes, and digests to check the rows by:</p>
<pre tabindex="0">npm run report -- --month ${month} --account ${shellWord(account)} --format html</pre>`,
    );
  },
};

const exportAddress = (selection: PageSelection, format: string): string =>
  `/export${queryOf(selection)}&${new URLSearchParams({ format })}`;

/** The month in which the selection ends, or the last month that has ended. */
function closedMonth({ to }: PageSelection, today: string): string {
  const end = to < today ? to : today;
  const first = `${end.slice(0, 7)}-01`;
  return end.slice(0, 7) < today.slice(0, 7) ? end.slice(0, 7) : daysBefore(first, 1).slice(0, 7);
}
