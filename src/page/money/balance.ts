import { sql } from "drizzle-orm";
import { unifiedWallet } from "../../contract/product-types.ts";
import { dayMs, epochMs, isoTime } from "../../contract/time.ts";
import { decimalOf, isAtMost } from "../../export/decimal.ts";
import { type Flag, plot } from "../charts/plot.ts";
import { stepShapes } from "../charts/steps.ts";
import { valueAxis } from "../charts/value-axis.ts";
import { allDigits, amount, forPixels } from "../format.ts";
import { type Html, html, joined } from "../html.ts";
import { card, type WalletContext, type WalletSection } from "../section.ts";
import type { Day } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { type ChartStretch, chartStretches, isByMonth } from "./chart-stretches.ts";
import { figureTable, readText, stretchName } from "./parts.ts";
import { hasDays } from "./span.ts";
import { walletDays } from "./wallet-days.ts";

const about = { id: "balance", title: "Balance" };

/** The balance at the end of each day, with breaks and unread time. */
export const balance: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection } = context;
    const stretches = chartStretches(await walletDays(context), context);
    const name = `${selection.account} ${selection.product} ${selection.coin}`;
    const breaks = await readBreaks(context);
    const period = isByMonth(stretches) ? "month" : "day";
    return card(
      { ...about, about: name },
      html`<figure>${pictureOf(stretches, breaks, context)}
<figcaption class="note">Closing balance at the end of each ${period === "day" ? "UTC day" : "month"}, ${selection.coin}.
${stretches.some(isUnread) ? html`<span class="key hatched"></span> not all read.` : ""} ${breaksText(breaks)}</figcaption></figure>
${tableOf(stretches, context, period)}`,
    );
  },
};

const isUnread = ({ known }: ChartStretch): boolean => known?.isComplete !== true;

function pictureOf(
  stretches: readonly ChartStretch[],
  breaks: readonly BalanceBreak[],
  { selection }: WalletContext,
): Html {
  const closings = stretches.map(({ known }) => known?.closing ?? undefined);
  const values = closings.map((closing) =>
    closing === undefined ? undefined : forPixels(closing),
  );
  const axis = valueAxis(values.filter((value) => value !== undefined));
  return plot({
    id: about.id,
    label: `Balance in ${selection.coin}: ${summaryOf(closings.filter((text) => text !== undefined))}`,
    axis,
    flags: flagsOf(breaks, stretches),
    shapes: stepShapes(values, axis),
    points: stretches.map((stretch) => ({
      from: stretch.from,
      isUnread: isUnread(stretch),
      text: [
        `${stretchName(stretch)}: ${balanceText(stretch)} ${selection.coin}`,
        ...(isUnread(stretch) ? ["not all of it was read"] : []),
        ...breaksIn(breaks, stretch).map(({ breakId, state }) => `break #${breakId} (${state})`),
      ].join(", "),
    })),
  });
}

const balanceText = ({ known }: ChartStretch): string =>
  known?.closing == null ? "unknown" : allDigits(known.closing);

function summaryOf(closings: readonly string[]): string {
  const [first] = closings;
  const last = closings.at(-1);
  if (first === undefined || last === undefined) return "unknown, no bill shows one";
  const sorted = closings.toSorted((a, b) => (isAtMost(decimalOf(a), decimalOf(b)) ? -1 : 1));
  const [lowest = first, highest = last] = [sorted.at(0), sorted.at(-1)];
  return (
    `${allDigits(first)} at first, ${allDigits(last)} at last, ` +
    `lowest ${allDigits(lowest)}, highest ${allDigits(highest)}`
  );
}

function tableOf(
  stretches: readonly ChartStretch[],
  { selection }: WalletContext,
  period: string,
): Html {
  const rows = stretches.toReversed().map((stretch) => {
    const { from, to, known } = stretch;
    const figure = amount(known?.closing ?? null, selection);
    return html`<tr><th scope="row">${stretchName(stretch)}</th><td class="figure">${linked(figure, billsAddress(selection, { from, to }))}</td><td>${readText(known)}</td></tr>`;
  });
  return figureTable(
    "The balance as a table",
    [`${period === "day" ? "Day" : "Month"}`, "Closing balance", "Read"],
    rows,
  );
}

type BalanceBreak = { readonly breakId: string; readonly day: Day; readonly state: string };

const breaksMax = 100;

/** The unresolved breaks of the wallet's own product types, in the order in which they happened. */
async function readBreaks({ tx, selection }: WalletContext): Promise<readonly BalanceBreak[]> {
  const { account, product, coin, from, to } = selection;
  const ofProduct =
    product === unifiedWallet
      ? sql`(product_type = ${product} or product_type like 'UTA-%')`
      : sql`product_type = ${product}`;
  const { rows } = await tx.execute<BalanceBreak>(sql`
    select
      break_id::text as "breakId",
      to_char(happened_at at time zone 'UTC', 'YYYY-MM-DD') as day,
      state
    from analytics.breaks
    where account = ${account}
      and ${ofProduct}
      and coin in (${coin}, '')
      and state <> 'resolved'
      and happened_at >= ${`${from}T00:00:00Z`}::timestamptz
      and happened_at < ${isoTime(epochMs(Date.parse(to) + dayMs))}::timestamptz
    order by happened_at, break_id
    limit ${breaksMax}`);
  return rows;
}

const breaksIn = (breaks: readonly BalanceBreak[], { from, to }: ChartStretch) =>
  breaks.filter(({ day }) => day >= from && day <= to);

/** One flag a day, however many breaks the day has. */
const flagsOf = (
  breaks: readonly BalanceBreak[],
  stretches: readonly ChartStretch[],
): readonly Flag[] =>
  stretches.flatMap((stretch, index) => {
    const [first, ...others] = breaksIn(breaks, stretch).toSorted((a, b) =>
      a.state.localeCompare(b.state),
    );
    if (first === undefined) return [];
    const more = others.length === 0 ? "" : ` +${others.length}`;
    return [{ index, text: `#${first.breakId}${more}`, isOpen: first.state === "open" }];
  });

const breaksText = (breaks: readonly BalanceBreak[]): Html | undefined =>
  breaks.length === 0
    ? undefined
    : html`Breaks: ${joined(
        breaks.map(
          ({ breakId, day, state }) =>
            html`<a href="#break-${breakId}">#${breakId}</a> on ${day} (${state})`,
        ),
        ", ",
      )}.`;
