import { dayMs, type EpochMs } from "../../contract/time.ts";
import { add, decimalOf, decimalText } from "../../export/decimal.ts";
import { formatCounted, formatMinute } from "../../terminal/format.ts";
import { floatingBar, markAt } from "../charts/floating-bar.ts";
import { amount, forPixels, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { chip } from "../icons.ts";
import { card, type WalletSection } from "../section.ts";
import type { PageSelection } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { type Judged, judgedOf } from "./judged.ts";
import { resultGroup } from "./line-groups.ts";
import { type Line, lines } from "./lines.ts";
import { figureOf, unreadDays } from "./parts.ts";
import { hasDays } from "./span.ts";
import { isZero, linesIn, resultOf, together } from "./stretches.ts";
import { type Stretch, walletDays } from "./wallet-days.ts";

const about = { id: "bridge", title: "Opening to closing balance" };

// So few lines leave room below them when they stand beside the charts.
const shortMax = 8;

/**
 * A line between opening and closing: the amount that it moves, and the balance before and after
 * it.
 */
export type BridgeStep = {
  readonly line: Line;
  readonly moved: string;
  readonly before: string;
  readonly after: string;
};

/** The way from the opening balance to the closing one, as a table with floating bars. */
export const bridge: WalletSection = {
  ...about,
  isThere: hasDays,
  async render(context) {
    const { selection, now } = context;
    const days = await walletDays(context);
    const whole = together(days);
    if (whole === undefined) return html``;
    const steps = bridgeSteps(whole, days);
    const judged = await judgedOf(context, whole);
    return card(
      {
        ...about,
        about: html`${selection.coin} ${readChip(days, now)} ${tieChip(whole, judged)}`,
      },
      html`${tableOf(whole, steps, { selection, judged })}${isZero(whole.moved.unsettled) ? "" : html`<p class="note">Not settled yet: what no bill explains so far. The next sync may read a bill that does, and <code>reconcile</code> judges what is left.</p>`}`,
    );
  },
};

/**
 * A step for each line that is not zero on some day, and always one for the unexplained difference.
 */
export function bridgeSteps(whole: Stretch, days: readonly Stretch[]): readonly BridgeStep[] {
  const moving = linesIn(days);
  // If no bill shows a balance, the steps begin at zero: their lengths are right, their positions
  // mean nothing.
  let balance = whole.opening ?? "0";
  const shown = lines.filter((line) => line.name === "difference" || moving.includes(line));
  // What is earned or lost stands together, so that its sum can stand below it.
  return shown
    .toSorted((a, b) => Number(b.isResult) - Number(a.isResult))
    .map((line) => {
      const moved = whole.moved[line.name];
      const before = balance;
      balance = decimalText(add(decimalOf(before), decimalOf(moved)));
      return { line, moved, before, after: balance };
    });
}

function readChip(days: readonly Stretch[], now: EpochMs): Html {
  const unread = unreadDays(days, now);
  if (unread > 0) return chip("warn", `${formatCounted(unread, "day")} not all read`);
  return chip(
    "good",
    days.every(({ isComplete }) => isComplete) ? "all days read" : "all days before today read",
  );
}

function tieChip({ opening, moved, to }: Stretch, judged: Judged): Html {
  if (opening === null) return chip("none", "no bill shows a balance");
  if (!isZero(moved.difference)) return chip("bad", "does not add up");
  if (judged.state === "never") return chip("warn", "not reconciled yet");
  if (!isZero(moved.unsettled)) return chip("warn", "not all settled");
  if (judged.state === "outdated") return chip("warn", "not reconciled since bills changed");
  const { through } = judged;
  const isWhole = through >= Date.parse(to) + dayMs;
  return chip(
    "good",
    isWhole ? "adds up to the last digit" : `adds up through ${formatMinute(through)}`,
  );
}

function tableOf(
  whole: Stretch,
  steps: readonly BridgeStep[],
  { selection, judged }: { readonly selection: PageSelection; readonly judged: Judged },
): Html {
  // Before a reconcile, whatever no bill explains is not settled.
  const shownOf = ({ line, moved }: BridgeStep) =>
    line.name === "difference" && judged.state === "never" && isZero(moved) ? null : moved;
  const places = steps.flatMap(({ before, after }) => [forPixels(before), forPixels(after)]);
  const span = { low: Math.min(...places), high: Math.max(...places) };
  const balanceRow = (title: string, balance: string | null) => html`
<tr class="balance"><th scope="row">${title}</th><td class="figure">${amount(balance, selection)}</td><td class="gauge" aria-hidden="true">${balance === null ? "" : markAt(forPixels(balance), span)}</td></tr>`;
  const earned = steps.filter(({ line }) => line.isResult);
  const others = steps.filter(({ line }) => !line.isResult);
  const result = resultOf(whole);
  const opening = whole.opening ?? "0";
  const rowOf = (step: BridgeStep) => html`
<tr class="${toneOf(step.line, step.moved)}"><th scope="row">${step.line.title}</th><td class="figure">${linked(figureOf(step.line, shownOf(step), selection), billsAddress(selection, { pieces: [step.line.name] }))}</td><td class="gauge" aria-hidden="true">${floatingBar(forPixels(step.before), forPixels(step.after), span)}</td></tr>`;
  return html`<table class="bridge${steps.length > shortMax ? "" : " short"}"><thead><tr><th scope="col"><span class="unseen">Line</span></th><th scope="col"><span class="unseen">Amount</span></th><td></td></tr></thead><tbody>
${balanceRow("Opening balance", whole.opening)}
${earned.map(rowOf)}
<tr class="sum"><th scope="row">${resultGroup.title}</th><td class="figure">${linked(movement(result, selection), billsAddress(selection, { pieces: [resultGroup.name] }))}</td><td class="gauge" aria-hidden="true">${floatingBar(forPixels(opening), forPixels(opening) + forPixels(result), span)}</td></tr>
${others.map(rowOf)}
${balanceRow("Closing balance", whole.closing)}
</tbody></table>`;
}

const toneOf = ({ name }: Line, moved: string): string => {
  if (isZero(moved)) return "";
  return name === "difference" ? "bad" : name === "unsettled" ? "warn" : "";
};
