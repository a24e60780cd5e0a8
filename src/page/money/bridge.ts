import type { EpochMs } from "../../contract/time.ts";
import { add, decimalOf, decimalText } from "../../export/decimal.ts";
import { formatCounted } from "../../terminal/format.ts";
import { floatingBar, markAt } from "../charts/floating-bar.ts";
import { amount, forPixels, movement } from "../format.ts";
import { type Html, html } from "../html.ts";
import { chip } from "../icons.ts";
import { card, type WalletSection } from "../section.ts";
import type { PageSelection } from "../selection.ts";
import { billsAddress, linked } from "./bill-links.ts";
import { type Line, lines } from "./lines.ts";
import { unreadDays } from "./parts.ts";
import { hasDays } from "./span.ts";
import { isZero, linesIn, together } from "./stretches.ts";
import { type Stretch, walletDays } from "./wallet-days.ts";

const about = { id: "bridge", title: "Bridge" };

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
    return card(
      {
        ...about,
        about: html`${whole.from} to ${whole.to}, ${selection.coin} ${readChip(days, now)} ${tieChip(whole)}`,
      },
      html`${tableOf(whole, steps, selection)}${unmappedNote(whole, selection)}`,
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
  return lines
    .filter((line) => line.name === "difference" || moving.includes(line))
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

function tieChip({ opening, moved }: Stretch): Html {
  if (opening === null) return chip("none", "no bill shows a balance");
  if (!isZero(moved.difference)) return chip("bad", "does not tie");
  return isZero(moved.unsettled)
    ? chip("good", "ties to the last digit")
    : chip("warn", "not all settled");
}

function tableOf(whole: Stretch, steps: readonly BridgeStep[], selection: PageSelection): Html {
  const places = steps.flatMap(({ before, after }) => [forPixels(before), forPixels(after)]);
  const span = { low: Math.min(...places), high: Math.max(...places) };
  const balanceRow = (title: string, balance: string | null) => html`
<tr class="balance"><th scope="row">${title}</th><td class="figure">${amount(balance, selection)}</td><td class="gauge" aria-hidden="true">${balance === null ? "" : markAt(forPixels(balance), span)}</td></tr>`;
  return html`<table class="bridge"><thead><tr><th scope="col"><span class="unseen">Line</span></th><th scope="col"><span class="unseen">Amount</span></th><td></td></tr></thead><tbody>
${balanceRow("Opening balance", whole.opening)}
${steps.map(
  ({ line, moved, before, after }) => html`
<tr class="${toneOf(line, moved)}"><th scope="row">${line.title}</th><td class="figure">${linked(movement(moved, selection), billsAddress(selection, { pieces: [line.name] }))}</td><td class="gauge" aria-hidden="true">${floatingBar(forPixels(before), forPixels(after), span)}</td></tr>`,
)}
${balanceRow("Closing balance", whole.closing)}
</tbody></table>`;
}

/** What a reader can do about bills of unmapped types. */
const unmappedNote = ({ moved }: Stretch, selection: PageSelection): Html =>
  isZero(moved.unmapped)
    ? html``
    : html`<p class="note">Unmapped types are in no result: <a href="${billsAddress(selection, { pieces: ["unmapped"] })}">their bills</a>. <code>npm run types</code> lists them; <code>types set</code> says what they are.</p>`;

const toneOf = ({ name }: Line, moved: string): string => {
  if (isZero(moved)) return "";
  return name === "difference" ? "bad" : name === "unsettled" ? "warn" : "";
};
