import { type Finding, severityOf } from "../../../check/health/finding-kinds.ts";
import { readLoans } from "../../../check/health/ledgers.ts";
import { type HeadLine, headLines } from "../../../check/health/verdict.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { type Html, html } from "../../../output/html.ts";
import { amount, none, percentage, timeTag } from "../../../output/html-figures.ts";
import { formatCount, formatCounted, formatDuration } from "../../../output/text.ts";
import { block, frame, pageFoot, pageHead } from "./layout.ts";
import {
  type Ledger,
  type Overview,
  type OverviewDeps,
  type Period,
  readOverview,
  throughOf,
} from "./overview.ts";
import { type Asked, queryOf } from "./selection.ts";
import { statement } from "./statement.ts";
import { readPageQuery } from "./wallets.ts";

/**
 * Writes each part of the page as soon as it is known, beginning with whether the ledgers can be trusted.
 * All parts show the same moment.
 */
export async function writePage(
  tx: Transaction,
  { query, ...deps }: OverviewDeps & { readonly query: Asked },
  write: (part: Html) => void,
): Promise<void> {
  const overview = await readOverview(tx, deps, query.get("find")?.trim() ?? "");
  const { now, isSyncAtWork } = overview;
  const selected = await readPageQuery(tx, query, now);
  const rounded = selected?.selection.isExact ? "" : " Figures are rounded for reading.";
  write(
    pageHead(titleOf(overview), "Overview", {
      query: selected === undefined ? "" : queryOf(selected.selection),
      isSyncAtWork,
    }),
  );
  write(html`${verdictSection(overview)}${todoSection(overview)}${ledgersSection(overview)}`);
  if (overview.stored > 0) {
    if (selected !== undefined) write(await statement(tx, selected, isoTime(now).slice(0, 10)));
    write(await loansSection(tx));
  }
  write(pageFoot(html`Days are UTC. Coins are never added up.${rounded} As of ${timeTag(now)}.`));
}

/** The newest loan-to-value record of each risk unit; empty where there are no loans. */
async function loansSection(tx: Transaction): Promise<Html> {
  const loans = await readLoans(tx, undefined, loansMax);
  if (loans.length === 0) return html``;
  const usd = { coin: "USDT", isExact: false };
  const figure = (decimal: string | null) =>
    html`<td class="n">${decimal === null ? none : amount(decimal, usd)}</td>`;
  return block(
    { id: "loans", title: "Loans", beside: html`<small>newest records, in USDT</small>` },
    frame(
      "List of loans",
      html`<table><thead><tr><th scope="col">Account</th><th scope="col">Risk unit</th><th scope="col" class="n">Loan to value</th><th scope="col" class="n">Owed</th><th scope="col" class="n">Collateral</th><th scope="col">As of</th></tr></thead>
<tbody>${loans.map(
        ({ account, riskUnitId, ltv, owed, collateral, lastSeenAt }) =>
          html`<tr><th scope="row">${account}</th><td>${riskUnitId || "its own"}</td><td class="n">${ltv === null ? none : html`<data value="${ltv}">${percentage(ltv)}</data>`}</td>${figure(owed)}${figure(collateral)}<td>${timeTag(lastSeenAt)}</td></tr>`,
      )}</tbody></table>`,
    ),
  );
}

const loansMax = 20;

/** The colour of a severity. */
const toneOf = { critical: "bad", warning: "warn", notice: "quiet", good: "good" } as const;

/** Whether the figures below can be trusted, in a sentence. */
function verdictSection(overview: Overview): Html {
  const { verdict, isSyncAtWork: isAtWork } = overview;
  return html`
<section id="verdict" class="verdict"><h1 class="${isAtWork && verdict.severity === "good" ? "" : toneOf[verdict.severity]}"><i class="dot"></i>${titleOf(overview)}</h1>
<p>${sentence(overview)}</p>${isAtWork ? progress(overview) : ""}</section>`;
}

const titleOf = ({ verdict, isSyncAtWork: isAtWork }: Overview): string =>
  isAtWork && verdict.severity === "good" ? "A sync is at work" : verdict.title;

function sentence({ bills, checked, isSyncAtWork: isAtWork, ...rest }: Overview): Html {
  if (rest.stored === 0) {
    return html`Nothing is stored yet. <code>bill-sync doctor</code> checks the key, and <code>bill-sync sync</code> reads the bills.`;
  }
  const through = rest.ledgers.length < rest.stored ? undefined : readThrough(rest.ledgers);
  return html`${formatCounted(bills, "bill")} of ${formatCounted(rest.stored, "ledger")} ${bills === 1 ? "is" : "are"} stored${through === undefined ? "" : html`, read through ${timeTag(through)}`}. ${checked === 0 ? "No balance was checked yet." : html`${formatCounted(checked, "balance")} ${checked === 1 ? "was" : "were"} checked.`}${isAtWork ? " Figures are not final before it ends." : ""}`;
}

/** The time through which all of these ledgers are read; undefined where one is not. */
function readThrough(ledgers: readonly Ledger[]): EpochMs | undefined {
  const ends = ledgers.flatMap((ledger) => throughOf(ledger) ?? []);
  return ends.length === 0 || ends.length < ledgers.length ? undefined : epochMs(Math.min(...ends));
}

function progress({ ledgers }: Overview): Html {
  const all = ledgers.flatMap(({ periods }) => periods);
  const msOfState = (periods: readonly Period[]) =>
    periods.reduce((sum, { from, to }) => sum + to - from, 0);
  const read = msOfState(all.filter(({ state }) => state !== "unread"));
  const percent = Math.floor((read / Math.max(1, msOfState(all))) * 1_000) / 10;
  return html`<p class="progress"><progress max="100" value="${percent}" aria-label="time that was read"></progress> ${percent.toFixed(1)} % of the time is read</p>`;
}

const todoMax = 10;

/** What is wrong, worst first, each with the command that helps. Empty where nothing is. */
function todoSection({ findings, findingCount, now }: Overview): Html {
  const lines = headLines(findings, now);
  if (findings.length === 0) return html`<section id="todo" hidden></section>`;
  const listed = lines.slice(0, todoMax);
  const more = findingCount - listed.reduce((sum, { count }) => sum + count, 0);
  return block(
    {
      id: "todo",
      title: "To do",
      beside: lines.length > 1 ? "worst first" : undefined,
    },
    html`<ul class="todo">${listed.map(todoLine)}</ul>
${more > 0 ? html`<p class="quiet">and ${formatCount(more)} more: <code>bill-sync status</code> lists them.</p>` : ""}`,
  );
}

const todoLine = ({ severity, text, remedy }: HeadLine): Html =>
  html`<li><i class="dot ${toneOf[severity]}"></i><span class="unseen">${severity}: </span><span class="what">${text}</span>${remedy === "" ? "" : html`<span class="do"><code>${remedy}</code></span>`}</li>`;

/** Each ledger's time as a strip, the end of what was read, and its state in words. */
function ledgersSection(overview: Overview): Html {
  const { ledgers, stored, now, find } = overview;
  if (stored === 0) return html`<section id="ledgers" hidden></section>`;
  const start = Math.min(...ledgers.flatMap(({ periods }) => periods.map(({ from }) => from)), now);
  const isOne = new Set(ledgers.map(({ account }) => account)).size <= 1;
  const table = html`<table class="ledgers"><thead><tr><th scope="col">Ledger</th><th scope="col" class="n">Bills</th><th scope="col" class="wide">Read since ${isoTime(start as EpochMs).slice(0, 10)}</th><th scope="col">Read up to</th><th scope="col" class="n">State</th></tr></thead>
<tbody>${ledgers.map((ledger) => ledgerRow(ledger, { start, now, isOne, isAtWork: overview.isSyncAtWork }))}</tbody></table>`;
  return block(
    {
      id: "ledgers",
      title: "Ledgers",
      beside:
        stored > ledgers.length || find !== ""
          ? html`<form method="get" action="/#ledgers"><small>${formatCount(ledgers.length)} of ${formatCount(stored)}</small> <label><span class="unseen">Part of an account's name</span><input type="search" name="find" value="${find}" placeholder="account"></label><button>Find</button></form>`
          : undefined,
    },
    ledgers.length === 0 ? html`<p>No account's name contains “${find}”.</p>` : table,
  );
}

type Drawing = {
  readonly start: number;
  readonly now: EpochMs;
  readonly isOne: boolean;
  readonly isAtWork: boolean;
};

function ledgerRow(ledger: Ledger, { start, now, isOne, isAtWork }: Drawing): Html {
  const { account, productType, bills, findings, periods } = ledger;
  const name = isOne ? productType : `${account} ${productType}`;
  const readTo = periods.findLast(({ state }) => state === "complete")?.to;
  const states = [...Map.groupBy(findings, ({ kind }) => kind).values()].flatMap(
    ([one, ...more]) =>
      one === undefined
        ? []
        : { tone: toneOf[severityOf(one)], text: stateOf([one, ...more], now) },
  );
  const state =
    states.length === 0
      ? html`<span class="good">complete</span>`
      : html`<span class="${states[0]?.tone ?? ""}">${states.map(({ text }) => text).join(", ")}</span>`;
  const isUnread = periods.some(({ state: one }) => one === "unread");
  const recoveredMs = periods
    .filter(({ state: one }) => one === "recovered")
    .reduce((sum, { from, to }) => sum + to - from, 0);
  const recovered =
    recoveredMs === 0
      ? ""
      : html`<br><small title="of tax records: no coupons, and balances are computed">${formatDuration(recoveredMs)} recovered</small>`;
  return html`<tr><th scope="row">${name}</th><td class="n">${formatCount(bills)}</td><td class="wide">${strip(ledger, start, now)}</td><td>${timeTag(readTo)}</td><td class="n">${isAtWork && isUnread ? "reading" : state}${recovered}</td></tr>`;
}

/** A ledger's findings of one kind in two or three words. */
function stateOf(findings: readonly [Finding, ...Finding[]], now: EpochMs): string {
  const [{ kind, since }] = findings;
  const sum = (of: (finding: Finding) => number) =>
    findings.reduce((whole, finding) => whole + of(finding), 0);
  const lengthMs = sum(
    ({ unreadMs, until = 0, since = until }) => unreadMs ?? Number(until) - Number(since),
  );
  const length = lengthMs > 0 ? `${formatDuration(lengthMs)} ` : "";
  const count = sum((one) => one.count);
  switch (kind) {
    case "broken":
      return formatCounted(count, "break");
    case "lost":
      return `${length}lost`;
    case "unread":
      return `${length}unread`;
    case "behind":
      return since === undefined ? "behind" : `${formatDuration(now - since)} behind`;
    case "rejected":
      return `${formatCount(count)} rejected`;
    default:
      return kind.replace("-", " ");
  }
}

const strip = ({ periods }: Ledger, start: number, now: EpochMs): Html => {
  const placeOf = (time: number) =>
    Math.round(Math.max(0, Math.min(1, (time - start) / Math.max(1, now - start))) * 10_000) / 100;
  const label = periods
    .map(
      ({ state, from, to }) =>
        `${state} ${isoTime(from).slice(0, 10)} to ${isoTime(to).slice(0, 10)}`,
    )
    .join(", ");
  return html`<svg class="strip" height="8" role="img" aria-label="${periods.length > 12 ? `${periods.length} periods` : label}">${periods.map(({ state, from, to }) => html`<rect class="${state}" x="${placeOf(from)}%" width="${Math.max(0.4, placeOf(to) - placeOf(from))}%" height="8"/>`)}</svg>`;
};
