import { plot } from "../charts/plot.ts";
import { barShapes } from "../charts/steps.ts";
import { valueAxis } from "../charts/value-axis.ts";
import { allDigits, forPixels, movement, netMovement } from "../format.ts";
import { html } from "../html.ts";
import { card, type WalletSection } from "../section.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { chartStretches, isByMonth } from "./chart-stretches.ts";
import { resultGroup } from "./line-groups.ts";
import { figureTable, offNote, offOf, readText, stretchName } from "./parts.ts";
import { hasDays } from "./span.ts";
import { resultOf, sumOf } from "./stretches.ts";
import { breaksText, flagsOf, walletBreaks } from "./wallet-breaks.ts";
import { walletDays } from "./wallet-days.ts";

const about = { id: "result", title: "Result by day", isHalf: true };

/** What each day earned or lost. */
export const result: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection } = context;
    const { coin } = selection;
    const known = await walletDays(context);
    const stretches = chartStretches(known, context);
    const breaks = await walletBreaks(context);
    const days = stretches.map((stretch) => ({
      ...stretch,
      result: stretch.known && resultOf(stretch.known),
    }));
    const values = days.map((day) =>
      day.result === undefined ? undefined : forPixels(day.result),
    );
    const axis = valueAxis([0, ...values.filter((value) => value !== undefined)]);
    const total = sumOf(days.flatMap((day) => day.result ?? []));
    const heading = isByMonth(stretches) ? { ...about, title: "Result by month" } : about;
    const shownAbout = { ...heading, about: coin };
    const picture = plot({
      id: about.id,
      label: `${heading.title} in ${coin}: ${allDigits(total, "+")} in all`,
      axis,
      flags: flagsOf(breaks, stretches),
      shapes: barShapes(values, axis),
      points: days.map((day) => ({
        from: day.from,
        isUnread: day.known?.isComplete !== true,
        text: `${stretchName(day)}: ${day.result === undefined ? "unknown" : allDigits(day.result, "+")} ${coin}`,
      })),
    });
    const rows = days.toReversed().map((day) => {
      const figure = linked(
        movement(day.result ?? null, selection),
        billsAddress(selection, { ...day, pieces: [resultGroup.name] }),
      );
      return html`<tr><th scope="row">${stretchName(day)}</th><td class="figure">${figure}</td><td>${readText(day.known)}</td></tr>`;
    });
    return card(
      shownAbout,
      html`<figure>${picture}<figcaption class="note">Total ${netMovement(total, selection)} ${coin}: profit, fees, funding, liquidations, bonuses, copy trading, deliveries and interest. <a href="#balance-sum">What else moved the balance</a>. ${offNote(offOf(known), selection)} ${breaksText(breaks)}</figcaption></figure>
${figureTable("The result as a table", ["Day", "Result", "Read"], rows)}`,
    );
  },
};
