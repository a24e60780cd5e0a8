import { epochMs } from "../../contract/time.ts";
import { plot } from "../charts/plot.ts";
import { stepShapes } from "../charts/steps.ts";
import { valueAxis } from "../charts/value-axis.ts";
import { allDigits, amount, forPixels, hundredfold, percentage, timeTag } from "../format.ts";
import { type Html, html } from "../html.ts";
import { card, type WalletSection } from "../section.ts";
import { type Day, daysBefore, type PageSelection } from "../selection.ts";
import { daysShownMax } from "./chart-stretches.ts";
import { loanCoins } from "./loan-coins.ts";
import {
  hasRiskUnits,
  highestOf,
  type LoanDay,
  type RiskUnit,
  readRiskUnits,
} from "./loan-days.ts";
import { figureTable, stretchName } from "./parts.ts";

const about = { id: "loan-to-value", title: "Loan-to-value" };

/** The account's loans: the ratio by day, and the debts and assets of the newest record. */
export const loanToValue: WalletSection = {
  ...about,
  isThere: hasRiskUnits,
  async render(context) {
    const { selection } = context;
    const units = await readRiskUnits(context);
    return card(
      { ...about, about: selection.account },
      units.map((unit, index) => unitOf(unit, index, selection)),
    );
  },
};

function unitOf(unit: RiskUnit, index: number, selection: PageSelection): Html {
  const { isExact } = selection;
  const inDollars = (decimal: string | null) => amount(decimal, { coin: "USDT", isExact });
  return html`
${unit.id === "" ? "" : html`<h3>Risk unit ${unit.id}</h3>`}
<p class="facts"><span>Loan-to-value <b>${percentage(unit.ltv, isExact)}</b></span>
<span><b>${inDollars(unit.debt)}</b> USDT owed</span>
<span><b>${inDollars(unit.assets)}</b> USDT of assets</span>
<span class="note">by the newest record, seen first ${timeOf(unit.takenAt)}, last ${timeOf(unit.heldUntil)}</span></p>
${daysOf(unit.days, `${about.id}-${index}`, selection)}
${loanCoins(unit, selection)}`;
}

const timeOf = (iso: string): Html => timeTag(epochMs(Date.parse(iso)));

type LoanStretch = { readonly from: Day; readonly to: Day; readonly highest: string | undefined };

function daysOf(days: readonly LoanDay[], id: string, { from, to, isExact }: PageSelection): Html {
  const stretches = stretchesOf(days);
  if (stretches.length === 0) {
    return html`<p class="note">From ${from} to ${to} there is no record: the figures here are of the newest one alone.</p>`;
  }
  const [only] = stretches.length === 1 ? stretches : [];
  if (only !== undefined) {
    return html`<p class="note">Of these days only ${stretchName(only)} has records; the highest ratio is ${percentage(only.highest ?? null, isExact)}.</p>`;
  }
  const values = stretches.map(({ highest }) =>
    highest === undefined ? undefined : forPixels(hundredfold(highest)),
  );
  const axis = valueAxis(values.filter((value) => value !== undefined));
  const textOf = ({ highest }: Pick<LoanStretch, "highest">) =>
    highest === undefined ? "unknown" : `${allDigits(hundredfold(highest))} %`;
  const all = highestOf(stretches.flatMap(({ highest }) => highest ?? []));
  const rows = stretches
    .toReversed()
    .map(
      (stretch) =>
        html`<tr><th scope="row">${stretchName(stretch)}</th><td class="figure">${percentage(stretch.highest ?? null, isExact)}</td></tr>`,
    );
  return html`<figure>${plot({
    id,
    label: `Loan-to-value by day: highest ${textOf({ highest: all })}`,
    axis,
    shapes: stepShapes(values, axis),
    points: stretches.map((stretch) => ({
      from: stretch.from,
      isUnread: stretch.highest === undefined,
      text: `${stretchName(stretch)}: ${textOf(stretch)}`,
    })),
  })}<figcaption class="note">The highest of each UTC day, in percent. The exchange's own limit is not in its answers.</figcaption></figure>
${figureTable("The ratio as a table", ["Day", "Highest"], rows)}`;
}

/** Every day from the first record to the last. A day without a record is unknown. */
function stretchesOf(days: readonly LoanDay[]): readonly LoanStretch[] {
  const [first] = days;
  const last = days.at(-1);
  if (first === undefined || last === undefined) return [];
  const byDay = new Map(days.map(({ day, highest }) => [day, highest ?? undefined]));
  const all: LoanStretch[] = [];
  for (let day = first.day; day <= last.day; day = daysBefore(day, -1)) {
    all.push({ from: day, to: day, highest: byDay.get(day) });
  }
  return all.length > daysShownMax ? monthsOf(all) : all;
}

const monthsOf = (days: readonly LoanStretch[]): readonly LoanStretch[] =>
  [...Map.groupBy(days, ({ from }) => from.slice(0, 7)).values()].flatMap((month) => {
    const [first, last] = [month.at(0), month.at(-1)];
    if (first === undefined || last === undefined) return [];
    const highest = highestOf(month.flatMap((day) => day.highest ?? []));
    return [{ from: first.from, to: last.to, highest }];
  });
