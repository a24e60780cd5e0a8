import type { EpochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import type { ListedBreak } from "../../reconciliation/sign-off.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { timeTag } from "../format.ts";
import { type Html, type HtmlPart, html, joined } from "../html.ts";
import { chip } from "../icons.ts";
import { card } from "../section.ts";
import { readBreakBills, readLastGoodTimes } from "./break-bills.ts";
import { billTable, breakRow, breakTable, pastOf, unfolded } from "./break-rows.ts";
import { checkedAt, demoBreaksOf, type Facts, openBreaksOf } from "./facts.ts";
import { greatestFirst } from "./greatest-breaks.ts";
import { isUpToDate } from "./headline.ts";
import { nextCommands } from "./next-commands.ts";
import { rejectedRows } from "./rejected-rows.ts";
import { remedyOf, severityOf } from "./remedy.ts";
import { readRestatedFields, restatedTable } from "./restated-bills.ts";
import { balancesText } from "./sentence.ts";
import { trustOf } from "./trust.ts";

// How many breaks are shown, and how many of them with their bills. Each of those reads a day of
// bills.
const shownMax = 50;
const unfoldedMax = 10;

/** The third card: where the ledger does not add up, and what to do about it. */
export async function breaksSection(tx: Transaction, facts: Facts): Promise<Html> {
  // What unread time explains comes last: somebody must explain the others.
  const isMild = (entry: ListedBreak) => (severityOf(entry, facts) === "bad" ? 0 : 1);
  const open = greatestFirst(openBreaksOf(facts)).toSorted((a, b) => isMild(a) - isMild(b));
  const ofDemo = demoBreaksOf(facts);
  const settled = facts.breaks.filter(({ state }) => state !== "open").toReversed();
  const shown = open.slice(0, shownMax);
  const goodAt = await readLastGoodTimes(
    tx,
    [shown, ofDemo, settled].flatMap((those) => those.slice(0, shownMax)),
  );
  const rowOf = (entry: ListedBreak, bills?: Html) =>
    breakRow(entry, {
      tone: severityOf(entry, facts),
      goodAt: goodAt.get(entry.breakId),
      unfolded: unfolded(entry, bills, remedyOf(entry, facts)),
    });
  const rows: Html[] = [];
  for (const [place, entry] of shown.entries()) {
    const bills =
      place < unfoldedMax ? await billsOf(tx, entry, goodAt.get(entry.breakId)) : undefined;
    rows.push(rowOf(entry, bills));
  }
  const more = open.length - rows.length;
  return card(
    {
      id: "breaks",
      title: "Breaks",
      about:
        open.length > 0
          ? `${formatCount(open.length)} open, ${formatCount(settled.length)} signed off or resolved`
          : none(facts),
    },
    html`${rows.length > 0 ? breakTable(rows) : ""}
${more > 0 ? html`<p class="remark">and ${formatCount(more)} more: <code>npm run breaks -- list</code></p>` : ""}
${await rejectedRows(tx, facts)}
${demoTable(ofDemo, facts, rowOf)}
${settledTable(settled, goodAt)}`,
  );
}

/** The table of the bills that a break is about; undefined if it is about none. */
async function billsOf(
  tx: Transaction,
  entry: ListedBreak,
  goodAt: EpochMs | undefined,
): Promise<Html | undefined> {
  if (entry.kind === "restatement")
    return restatedTable(entry.breakId, await readRestatedFields(tx, entry));
  const bills = await readBreakBills(tx, entry, goodAt);
  return bills.length === 0 ? undefined : billTable(entry, bills);
}

const none = (facts: Facts): Html => {
  if (facts.reconciled.lastRunAt === undefined && facts.breaks.length === 0) {
    return html`They were not looked for yet: <code>npm run reconcile</code> holds each balance against the one before it and its bill.`;
  }
  const tone = isUpToDate(trustOf(facts)) ? "good" : "none";
  const at = checkedAt(facts);
  return html`${chip(tone, "nothing is open")} ${at === undefined ? "" : html`As of ${timeTag(at)}, `}${balancesText(facts)}`;
};

/** The open breaks of demo trading, folded, with the commands that close them. */
function demoTable(
  open: readonly ListedBreak[],
  facts: Facts,
  rowOf: (entry: ListedBreak) => Html,
): HtmlPart {
  if (open.length === 0) return "";
  const commands = joined(
    closing(open, facts).map((command) => html`<code>${command}</code>`),
    " then ",
  );
  return html`<p class="remark">${formatCounted(open.length, "break")} of demo trading, which is not money, ${open.length === 1 ? "is" : "are"} open, too: ${commands}</p>
<details class="settled"><summary>Demo trading: ${formatCounted(open.length, "open break")}</summary>
${breakTable(open.slice(0, shownMax).map((entry) => rowOf(entry)))}</details>`;
}

/** The commands that close these breaks. */
function closing(open: readonly ListedBreak[], facts: Facts): readonly string[] {
  const remedies = open.map((entry) => ({ ...entry, remedy: remedyOf(entry, facts) }));
  const withRemedy = (wanted: string) => remedies.filter(({ remedy }) => remedy === wanted);
  return nextCommands({
    ...{ ledgers: open.length, demoLedgers: 0, isSyncAtWork: false },
    ...{ paused: [], neverRead: 0, behindMs: 0 },
    readableMs: withRemedy("sync").length,
    rejectedRows: withRemedy("replay").length,
    repairableBreaks: withRemedy("repair").length,
    isReconciled: withRemedy("check").length === 0,
    lastingBreaks: withRemedy("sign off").map(({ breakId }) => breakId),
  });
}

/** @param settled newest first. */
function settledTable(
  settled: readonly ListedBreak[],
  goodAt: ReadonlyMap<number, EpochMs>,
): HtmlPart {
  if (settled.length === 0) return "";
  const newest = settled.slice(0, shownMax);
  const more = settled.length - newest.length;
  return html`<details class="settled"><summary>Signed off or resolved: ${formatCounted(settled.length, "break")}</summary>
${breakTable(newest.map((entry) => breakRow(entry, { tone: "none", goodAt: goodAt.get(entry.breakId), past: pastOf(entry) })))}
${more > 0 ? html`<p class="remark">and ${formatCount(more)} older: <code>npm run breaks -- list --all</code></p>` : ""}</details>`;
}
