import type { Finding } from "../../../check/health/kinds.ts";
import { type HeadLine, headLines } from "../../../check/health/verdict.ts";
import { type EpochMs, epochMs } from "../../../lib/time.ts";
import { timeTag } from "../../../output/format.ts";
import { type Html, html } from "../../../output/html.ts";
import { formatCount, formatCounted } from "../../../output/output-format.ts";
import { block } from "./layout.ts";
import { type Ledger, type Overview, type Period, throughOf } from "./overview.ts";

/** The colour of a severity. */
export const toneOf = { critical: "bad", warning: "warn", notice: "quiet", good: "good" } as const;

/** Whether the figures below can be trusted, in a sentence. */
export function verdictSection(overview: Overview): Html {
  const { verdict, isSyncAtWork: isAtWork } = overview;
  return html`
<section id="verdict" class="verdict"><h1 class="${isAtWork && verdict.severity === "good" ? "" : toneOf[verdict.severity]}"><i class="dot"></i>${titleOf(overview)}</h1>
<p>${sentence(overview)}</p>${isAtWork ? progress(overview) : ""}</section>`;
}

export const titleOf = ({ verdict, isSyncAtWork: isAtWork }: Overview): string =>
  isAtWork && verdict.severity === "good" ? "A sync is at work" : verdict.title;

function sentence({ bills, checked, isSyncAtWork: isAtWork, ...rest }: Overview): Html {
  if (rest.stored === 0) {
    return html`Nothing is stored yet. <code>bill-sync doctor</code> checks the key, and <code>bill-sync sync</code> reads the bills.`;
  }
  const listed = rest.ledgers.filter(({ isDemo }) => !isDemo);
  const through = listed.length < rest.storedOfMoney ? undefined : readThrough(listed);
  return html`${formatCounted(bills, "bill")} of ${formatCounted(rest.storedOfMoney, "ledger")} ${bills === 1 ? "is" : "are"} stored${through === undefined ? "" : html`, read through ${timeTag(through)}`}. ${checked === 0 ? "No balance was checked yet." : html`${formatCounted(checked, "balance")} ${checked === 1 ? "was" : "were"} checked.`}${isAtWork ? " Figures are not final before it ends." : ""}`;
}

/** The time through which all of these ledgers are read; undefined where one is not. */
function readThrough(ledgers: readonly Ledger[]): EpochMs | undefined {
  const ends = ledgers.flatMap((ledger) => throughOf(ledger) ?? []);
  return ends.length === 0 || ends.length < ledgers.length ? undefined : epochMs(Math.min(...ends));
}

function progress({ ledgers }: Overview): Html {
  const all = ledgers.flatMap(({ isDemo, periods }) => (isDemo ? [] : periods));
  const msOfState = (periods: readonly Period[]) =>
    periods.reduce((sum, { from, to }) => sum + to - from, 0);
  const read = msOfState(all.filter(({ state }) => state !== "unread"));
  const percent = Math.floor((read / Math.max(1, msOfState(all))) * 1_000) / 10;
  return html`<p class="progress"><progress max="100" value="${percent}" aria-label="time that was read"></progress> ${percent.toFixed(1)} % of the time is read</p>`;
}

const todoMax = 10;

/** What is wrong, worst first, each with the command that helps. Empty where nothing is. */
export function todoSection({ findings, findingCount, now }: Overview): Html {
  const linesOf = (isOne: (finding: Finding) => boolean) => headLines(findings.filter(isOne), now);
  const money = linesOf(({ isDemo }) => !isDemo);
  const demo = linesOf(({ isDemo }) => isDemo);
  if (findings.length === 0) return html`<section id="todo" hidden></section>`;
  const listed = money.slice(0, todoMax);
  const more = findingCount - listed.reduce((sum, { count }) => sum + count, 0);
  return block(
    {
      id: "todo",
      title: money.length === 0 ? "Nothing to do" : "To do",
      beside: money.length > 1 ? "worst first" : undefined,
    },
    html`<ul class="todo">${listed.map(todoLine)}</ul>
${more > 0 ? html`<p class="quiet">and ${formatCount(more)} more: <code>bill-sync status</code> lists them.</p>` : ""}
${
  demo.length === 0
    ? ""
    : html`<details><summary>${formatCounted(demo.length, "thing")} of demo trading, which is not real money</summary><ul class="todo">${demo.slice(0, todoMax).map(todoLine)}</ul></details>`
}`,
  );
}

const todoLine = ({ severity, text, remedy }: HeadLine): Html =>
  html`<li><i class="dot ${toneOf[severity]}"></i><span class="unseen">${severity}: </span><span class="what">${text}</span>${remedy === "" ? "" : html`<span class="do"><code>${remedy}</code></span>`}</li>`;
