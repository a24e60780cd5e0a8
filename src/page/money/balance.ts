import { decimalOf, isAtMost } from "../../export/decimal.ts";
import { plot } from "../charts/plot.ts";
import { stepShapes } from "../charts/steps.ts";
import { valueAxis } from "../charts/value-axis.ts";
import { allDigits, amount, forPixels } from "../format.ts";
import { type Html, html } from "../html.ts";
import { card, type WalletContext, type WalletSection } from "../section.ts";
import { walletText } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { type ChartStretch, chartStretches, isByMonth } from "./chart-stretches.ts";
import { figureTable, readText, stretchName } from "./parts.ts";
import { hasDays } from "./span.ts";
import { breaksIn, breaksText, flagsOf, type WalletBreak, walletBreaks } from "./wallet-breaks.ts";
import { walletDays } from "./wallet-days.ts";

const about = { id: "balance", title: "Balance" };

/** The balance at the end of each day, with breaks and unread time. */
export const balance: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection } = context;
    const stretches = chartStretches(await walletDays(context), context);
    const breaks = await walletBreaks(context);
    const period = isByMonth(stretches) ? "month" : "day";
    return card(
      { ...about, about: walletText(selection) },
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
  breaks: readonly WalletBreak[],
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
