import { epochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { shellWord } from "../../printable.ts";
import { breakKinds } from "../../reconciliation/breaks.ts";
import type { ListedBreak, PastDecision } from "../../reconciliation/sign-off.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { allDigits, asWritten, padded, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { chip } from "../icons.ts";
import { card } from "../section.ts";
import { walletTitle } from "../selection.ts";
import { type ChainedBill, readBreakBills } from "./break-bills.ts";
import { type Facts, isNotice, openBreaksOf } from "./facts.ts";
import { rejectedRows } from "./rejected-rows.ts";
import { remedyOf } from "./remedy.ts";
import { readRestatedFields, restatedTable } from "./restated-bills.ts";
import { balancesText } from "./sentence.ts";

// How many breaks are shown, and how many of them with their bills. Each of those reads a day of
// bills.
const shownMax = 50;
const unfoldedMax = 10;

/** The third card: where the ledger does not add up, and what to do about it. */
export async function breaksSection(tx: Transaction, facts: Facts): Promise<Html> {
  // A hole explains the breaks beside it, so breaks that somebody must explain come first.
  const open = openBreaksOf(facts).toSorted((a, b) => unreadLast(a) - unreadLast(b));
  const settled = facts.breaks.filter(({ state }) => state !== "open");
  const isChecked = facts.reconciled.lastRunAt !== undefined || facts.breaks.length > 0;
  const rows: Html[] = [];
  for (const [place, entry] of open.slice(0, shownMax).entries()) {
    const bills = place < unfoldedMax ? await billsOf(tx, entry) : undefined;
    rows.push(breakRow(entry, { unfolded: unfolded(entry, bills, facts) }));
  }
  const more = open.length - rows.length;
  return card(
    {
      id: "breaks",
      title: "Breaks",
      about:
        open.length > 0
          ? `${formatCount(open.length)} open, ${formatCount(settled.length)} signed off or resolved`
          : none(facts, isChecked),
    },
    html`${rows.length > 0 ? breakTable(rows) : ""}
${more > 0 ? html`<p class="remark">and ${formatCount(more)} more: <code>npm run reconcile -- --list</code></p>` : ""}
${await rejectedRows(tx, facts)}
${settledTable(settled)}`,
  );
}

/** The table of the bills that a break is about; undefined if it is about none. */
async function billsOf(tx: Transaction, entry: ListedBreak): Promise<Html | undefined> {
  if (entry.kind === "restatement")
    return restatedTable(entry.breakId, await readRestatedFields(tx, entry));
  const bills = await readBreakBills(tx, entry);
  return bills.length === 0 ? undefined : billTable(entry, bills);
}

const unreadLast = ({ kind }: ListedBreak): number => (kind === "unread" ? 1 : 0);

const none = (facts: Facts, isChecked: boolean): Html => {
  if (!isChecked) {
    return html`They were not looked for yet: <code>npm run reconcile</code> holds each balance against the one before it and its bill.`;
  }
  return html`${chip("good", "nothing is open")} ${balancesText(facts)}`;
};

const breakTable = (rows: readonly Html[]): Html => html`
<table class="breaks stacked">
<thead><tr><th scope="col">Break</th><th scope="col">Where and when</th><th scope="col" class="figure">Expected</th>
<th scope="col" class="figure">Observed</th><th scope="col" class="figure">Off by<span class="unit">observed − expected</span></th><th scope="col">What it means</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;

const states = {
  open: chip("bad", "open"),
  explained: chip("none", "signed off"),
  resolved: chip("good", "resolved"),
} as const;

type Rest = {
  /** Shown below the break's meaning. */
  readonly past?: HtmlPart;
  /** Shown in a row of its own, as wide as the table. */
  readonly unfolded?: HtmlPart;
};

function breakRow(entry: ListedBreak, { past, unfolded: more }: Rest): Html {
  const { breakId, account, productType, coin, kind, state } = entry;
  const [expected, observed, difference] = padded([
    entry.expected,
    entry.observed,
    entry.difference,
  ]);
  // Where rows are counted, the explanation has the number.
  const figure = (name: string, decimal: string | null | undefined, plus = "") =>
    html`<td class="figure" data-name="${name}">${decimal == null || isNotice(entry) ? html`<span class="zero">–</span>` : allDigits(decimal, plus)}</td>`;
  return html`<tr class="break" id="break-${breakId}">
<th scope="row">#${breakId} ${states[state]}</th>
<td data-name="Where and when"><span class="account">${account}</span> <span class="product">${walletTitle(productType)}</span>
<span class="when"><span class="product">${coin}</span> ${whenOf(entry)}</span></td>
${figure("Expected", expected)}${figure("Observed", observed)}${figure("Off by", difference, "+")}
<td class="meaning"><strong>${kind}</strong>: ${breakKinds[kind]}${past}</td></tr>${
    more === undefined ? "" : html`<tr class="more"><td colspan="6">${more}</td></tr>`
  }`;
}

const whenOf = ({ happenedAt, anchor }: ListedBreak): HtmlPart =>
  happenedAt === null ? anchor : timeTag(epochMs(Date.parse(happenedAt)));

/**
 * The bills around the break, and the commands that repair it or sign it off. The page itself
 * changes nothing.
 */
const unfolded = (entry: ListedBreak, bills: Html | undefined, facts: Facts): Html => html`
<details><summary>${bills !== undefined ? "Its bills, and how" : "How"} to ${remedyOf(entry, facts) === "sign off" ? "" : "repair it or "}sign it off</summary>
${entry.kind === "restatement" ? "" : html`<p>What the check found: ${asWritten(entry.explanation)}.</p>`}
${bills}
${repair(entry, facts)}
<p>Sign it off, where the reason is known:</p>
<pre tabindex="0">npm run reconcile -- --accept ${entry.breakId} --note "why"</pre>
</details>`;

/** What can be done before a sign-off. */
function repair(entry: ListedBreak, facts: Facts): HtmlPart {
  const { account, productType, firstBadBill, kind } = entry;
  const remedy = remedyOf(entry, facts);
  switch (remedy) {
    case "sync":
      return html`<p>Read what is missing, and check once more:</p><pre tabindex="0">npm run sync -- --account ${shellWord(account)}
npm run reconcile</pre>`;
    case "replay":
      return html`<p>Read the rejected rows again, after an upgrade:</p><pre tabindex="0">npm run replay</pre>`;
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

const billTable = (entry: ListedBreak, bills: readonly ChainedBill[]): Html => html`
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

function settledTable(settled: readonly ListedBreak[]): HtmlPart {
  if (settled.length === 0) return "";
  const newest = settled.toReversed().slice(0, shownMax);
  const more = settled.length - newest.length;
  return html`<details class="settled"><summary>Signed off or resolved: ${formatCounted(settled.length, "break")}</summary>
${breakTable(newest.map((entry) => breakRow(entry, { past: html`<p class="note">${asWritten(entry.explanation)}</p>${decisions(entry)}` })))}
${more > 0 ? html`<p class="remark">and ${formatCount(more)} older: <code>npm run reconcile -- --list --all</code></p>` : ""}</details>`;
}

const decisions = ({ decisions: past, resolvedAt, state }: ListedBreak): Html =>
  html`<ul class="holes">${past.map(decisionLine)}${
    state === "resolved" && resolvedAt !== null
      ? html`<li>resolved ${timeTag(epochMs(Date.parse(resolvedAt)))}: a check did not find it any more</li>`
      : ""
  }</ul>`;

const decisionLine = ({ decision, decidedAt, decidedBy, note }: PastDecision): Html =>
  html`<li>${decision} ${timeTag(epochMs(Date.parse(decidedAt)))}${decidedBy === null ? "" : ` by ${decidedBy}`}${note === null ? "" : html`: <q>${note}</q>`}</li>`;
