import { type EpochMs, epochMs } from "../../contract/time.ts";
import { shellWord } from "../../printable.ts";
import { breakKinds } from "../../reconciliation/breaks.ts";
import type { ListedBreak, PastDecision } from "../../reconciliation/sign-off.ts";
import { formatCounted, formatMinute } from "../../terminal/format.ts";
import { allDigits, asWritten, padded, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { chip, type Icon } from "../icons.ts";
import { walletTitle } from "../selection.ts";
import type { ChainedBill } from "./break-bills.ts";
import { isNotice } from "./facts.ts";
import type { Remedy } from "./remedy.ts";

export const breakTable = (rows: readonly Html[]): Html => html`
<table class="breaks stacked">
<thead><tr><th scope="col">Break</th><th scope="col">Where and when</th><th scope="col" class="figure">Expected</th>
<th scope="col" class="figure">Observed</th><th scope="col" class="figure">Off by<span class="unit">observed − expected</span></th><th scope="col">What it means</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;

type Row = {
  /** How bad it is while it is open. */
  readonly tone: Icon;
  /** When the last bill that fits was booked. */
  readonly goodAt: EpochMs | undefined;
  /** Shown below the break's meaning. */
  readonly past?: HtmlPart;
  /** Shown in a row of its own, as wide as the table. */
  readonly unfolded?: HtmlPart;
};

const stateOf = ({ state }: ListedBreak, tone: Icon): Html => {
  switch (state) {
    case "open":
      return chip(tone, "open");
    case "explained":
      return chip("none", "signed off");
    case "resolved":
      return chip("good", "resolved");
    default:
      return state satisfies never;
  }
};

export function breakRow(entry: ListedBreak, { tone, goodAt, past, unfolded: more }: Row): Html {
  const { breakId, account, productType, coin, kind } = entry;
  const [expected, observed, difference] = padded([
    entry.expected,
    entry.observed,
    entry.difference,
  ]);
  // Where rows are counted, the explanation has the number.
  const figure = (name: string, decimal: string | null | undefined, plus = "") =>
    html`<td class="figure" data-name="${name}">${decimal == null || isNotice(entry) ? html`<span class="zero">–</span>` : allDigits(decimal, plus)}</td>`;
  return html`<tr class="break" id="break-${breakId}">
<th scope="row">#${breakId} ${stateOf(entry, tone)}</th>
<td data-name="Where and when"><span class="account">${account}</span> <span class="product">${walletTitle(productType)}</span>
<span class="when"><span class="product">${coin}</span> ${whenOf(entry, goodAt)}</span></td>
${figure("Expected", expected)}${figure("Observed", observed)}${figure("Off by", difference, "+")}
<td class="meaning">${breakKinds[kind]}${past}</td></tr>${
    more === undefined ? "" : html`<tr class="more"><td colspan="6">${more}</td></tr>`
  }`;
}

/** When it was, or between which times: from the last bill that fits to the first that does not. */
function whenOf({ happenedAt, anchor }: ListedBreak, goodAt: EpochMs | undefined): HtmlPart {
  if (happenedAt === null) return anchor;
  const badAt = epochMs(Date.parse(happenedAt));
  return goodAt === undefined || formatMinute(goodAt) === formatMinute(badAt)
    ? timeTag(badAt)
    : html`between ${timeTag(goodAt)} <span class="until">and ${timeTag(badAt)}</span>`;
}

/**
 * The bills around the break, and the commands that close it. The page itself changes nothing.
 */
export function unfolded(entry: ListedBreak, bills: Html | undefined, remedy: Remedy): Html {
  const isSigned = remedy !== "sync" && remedy !== "check";
  const aim = isSigned
    ? remedy === "sign off"
      ? "sign it off"
      : "repair it or sign it off"
    : "close it";
  return html`
<details><summary>${bills !== undefined ? "Its bills, and how" : "How"} to ${aim}</summary>
${entry.kind === "restatement" ? "" : html`<p>What the check found: ${asWritten(entry.explanation)}.</p>`}
${bills}
${commandsOf(entry, remedy)}
${
  isSigned
    ? html`<p>Sign it off, where the reason is known:</p>
<pre tabindex="0">npm run breaks -- accept ${entry.breakId} --note "why"</pre>`
    : ""
}
</details>`;
}

/** What can be done before a sign-off. */
function commandsOf(
  { account, productType, firstBadBill, kind }: ListedBreak,
  remedy: Remedy,
): HtmlPart {
  switch (remedy) {
    case "sync":
      return html`<p>Read what is missing, and check once more:</p><pre tabindex="0">npm run sync -- --account ${shellWord(account)}
npm run reconcile</pre>`;
    case "replay":
      return html`<p>Read the rejected rows again, after an upgrade, and check once more:</p><pre tabindex="0">npm run sync
npm run reconcile</pre>`;
    case "check":
      return html`<p>What explains it is gone since the last check. Check once more:</p><pre tabindex="0">npm run reconcile</pre>`;
    case "repair": {
      const product = productType === "UTA" ? "" : ` --product ${productType}`;
      return html`<p>Read the time around it again, write what differs, and check once more:</p>
<pre tabindex="0">npm run reconcile -- --repair --account ${shellWord(account)}${product}</pre>`;
    }
    case "sign off":
      if (kind === "unread")
        return html`<p>The bills beside it are lost: no command brings them back.</p>`;
      return firstBadBill === null
        ? ""
        : html`<p>It lies behind the exchange’s 90 days: its bills cannot be read again.</p>`;
    default:
      return remedy satisfies never;
  }
}

export const billTable = (entry: ListedBreak, bills: readonly ChainedBill[]): Html => html`
<div class="scroll" tabindex="0" role="region" aria-label="Bills around #${entry.breakId}">
<table class="bills compact">
<thead><tr><th scope="col">Time</th><th scope="col">Bill</th><th scope="col">Type</th><th scope="col" class="figure">Balance before</th>
<th scope="col" class="figure">Moves it by</th><th scope="col" class="figure">Balance served</th></tr></thead>
<tbody>${withSamePlaces(bills).map((bill) => billRow(entry, bill))}</tbody>
</table></div>`;

/** The bills with all their decimals written to the same places. */
function withSamePlaces(bills: readonly ChainedBill[]): readonly ChainedBill[] {
  const all = padded(bills.flatMap((bill) => [bill.net, bill.balanceBefore, bill.balanceAfter]));
  return bills.map((bill, index) => {
    const [net, balanceBefore = null, balanceAfter = null] = all.slice(3 * index, 3 * index + 3);
    return { ...bill, net: net ?? bill.net, balanceBefore, balanceAfter };
  });
}

function billRow({ firstBadBill, lastGoodBill }: ListedBreak, bill: ChainedBill): Html {
  const isBad = bill.billId === firstBadBill;
  const mark = isBad
    ? chip("bad", "off")
    : bill.billId === lastGoodBill
      ? chip("good", "last good")
      : "";
  const gap =
    bill.leftOut === 0
      ? ""
      : html`<tr><td colspan="6" class="note">${formatCounted(bill.leftOut, "bill")} between, not shown</td></tr>
`;
  return html`${gap}<tr class="${isBad ? "culprit" : ""}">
<th scope="row">${timeTag(bill.time)}</th><td>${bill.billId} ${mark}</td><td>${bill.businessType} ${bill.symbol}</td>
<td class="figure" data-name="Balance before">${digits(bill.balanceBefore)}</td><td class="figure main">${digits(bill.net, "+")}</td><td class="figure" data-name="served">${digits(bill.balanceAfter)}</td></tr>`;
}

const digits = (decimal: string | null, plus = ""): HtmlPart =>
  decimal === null ? html`<i class="unknown">not served</i>` : allDigits(decimal, plus);

/** What became of a break that is no longer open. */
export const pastOf = (entry: ListedBreak): Html =>
  html`<p class="note">${asWritten(entry.explanation)}</p>${decisions(entry)}`;

const decisions = ({ decisions: past, resolvedAt, state }: ListedBreak): Html =>
  html`<ul class="holes">${past.map(decisionLine)}${
    state === "resolved" && resolvedAt !== null
      ? html`<li>resolved ${timeTag(epochMs(Date.parse(resolvedAt)))}: a check did not find it any more</li>`
      : ""
  }</ul>`;

const decisionLine = ({ decision, decidedAt, decidedBy, note }: PastDecision): Html =>
  html`<li>${decision} ${timeTag(epochMs(Date.parse(decidedAt)))}${decidedBy === null ? "" : ` by ${decidedBy}`}${note === null ? "" : html`: <q>${note}</q>`}</li>`;
