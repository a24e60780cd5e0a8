import { sql } from "drizzle-orm";
import { isSyncAtWork, type LoggedRun, readRuns } from "../../../check/health/runs.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { readExchangeTime } from "../../../core/store/known-time.ts";
import { isoTime } from "../../../lib/time.ts";
import { type Html, type HtmlPart, html } from "../../../output/html.ts";
import { daysText, none, shortened, timeTag } from "../../../output/html-figures.ts";
import { formatCounted, formatDuration } from "../../../output/text.ts";
import { dateFields, frame, pageFoot, pageHead } from "./layout.ts";
import { type Asked, askedIn, daysIn, timesOf } from "./selection.ts";

export async function readIsSyncAtWork(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.execute<{ isAtWork: boolean }>(
    sql`select ${isSyncAtWork} as "isAtWork"`,
  );
  return rows[0]?.isAtWork ?? false;
}

const listedMax = 200;

const usualDays = 14;

/** Writes the page of the runs of all commands, newest first. */
export async function writeRunsPage(
  tx: Transaction,
  query: Asked,
  write: (part: Html) => void,
): Promise<void> {
  const asked = askedIn(query);
  const days = daysIn(asked, await readExchangeTime(tx), usualDays);
  const search = asked.get("search")?.trim() ?? "";
  const { from, to } = timesOf(days);
  const isListed = sql`
      started_at >= ${isoTime(from)}::timestamptz
      and started_at < ${isoTime(to)}::timestamptz
      and strpos(lower(concat_ws(' ', command, outcome, error)), lower(${search})) > 0`;
  const runs = await readRuns(tx, isListed, listedMax + 1);
  const isAtWork = await readIsSyncAtWork(tx);
  const listed = runs.slice(0, listedMax);
  const failed = listed.filter(({ outcome }) => outcome === "failed").length;
  write(pageHead("Runs", "Runs"));
  write(html`
<section id="runs" aria-labelledby="runs-title"><h1 id="runs-title">Runs</h1>
<p class="quiet">${daysText(days)}: ${runs.length > listedMax ? `the newest ${listedMax} runs` : formatCounted(runs.length, "run")}, ${failed === 0 ? "none failed" : `${failed} failed`}</p>
<form method="get" action="/runs">${dateFields(days)}
<label><span class="unseen">Command, outcome or reason</span><input type="search" name="search" value="${search}" placeholder="search"></label><button>Show</button></form>
${listed.length === 0 ? html`<p>There is none.</p>` : frame("List of runs", table(listed, isAtWork))}
</section>`);
  write(pageFoot("Times are UTC, by the database's clock. The table runs has all that are kept."));
}

const table = (runs: readonly LoggedRun[], isSyncing: boolean): Html => html`<table class="runs">
<thead><tr><th scope="col">Started</th><th scope="col">Command</th><th scope="col">Outcome</th><th scope="col" class="n">Took</th><th scope="col" class="wide">Why</th></tr></thead>
<tbody>${runs.map((run) => {
  const { command, outcome, startedAt, finishedAt } = run;
  const isAtWork = command === "sync" && outcome === "running" && isSyncing;
  return html`<tr><th scope="row">${timeTag(startedAt)}</th><td>${command}</td><td>${isAtWork ? "at work" : outcomes[outcome]}</td><td class="n">${finishedAt === undefined ? none : formatDuration(finishedAt - startedAt)}</td><td class="wide">${isAtWork ? "" : whyOf(run)}</td></tr>`;
})}</tbody></table>`;

const outcomes = {
  running: html`<span class="warn">no end</span>`,
  complete: html`<span class="good">complete</span>`,
  incomplete: html`<span class="warn">incomplete</span>`,
  stopped: html`<span class="warn">stopped</span>`,
  failed: html`<span class="bad">failed</span>`,
  held: html`<span class="quiet">held</span>`,
} as const;

/** Why a run did not succeed, and what to type. */
function whyOf({ outcome, error }: LoggedRun): HtmlPart {
  if (error !== null) return shortened(error);
  switch (outcome) {
    case "complete":
      return "";
    case "held":
      return "another run was at work, and did it";
    case "running":
      return "killed, or the database was away at its end: the next sync goes on from there";
    case "stopped":
      return "stopped by Ctrl-C or SIGTERM: the next sync goes on from there";
    default:
      return html`something is unread, rejected or does not add up: see what <a href="/#todo">to do</a>`;
  }
}
