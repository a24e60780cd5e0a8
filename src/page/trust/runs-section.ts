import { dayMs, type EpochMs, epochMs, isoTime, minuteMs } from "../../contract/time.ts";
import type { LoggedRun } from "../../reports/runs.ts";
import { formatCount, formatCounted, formatDuration } from "../../terminal/format.ts";
import { lengthText, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { chip, type Icon } from "../icons.ts";
import { card } from "../section.ts";
import { outcomeWords } from "./tiles.ts";

export const runDays = 14;
/** A run every five minutes for {@link runDays} days is 4,032. */
export const runsMax = 5_000;
// This many of the newest runs are listed, and this many that did not succeed, with their reasons.
const newestMax = 5;
const toldMax = 15;

type Drawn = "good" | "failed" | "open";

const drawnOf = ({ outcome }: LoggedRun): Drawn => {
  if (outcome === "running") return "open";
  // A held run found another run at work and left the account to it.
  return outcome === "complete" || outcome === "held" ? "good" : "failed";
};

/** The last card: which runs there were, and how they ended. */
export function runsSection(runs: readonly LoggedRun[], now: EpochMs, isSyncAtWork: boolean): Html {
  const isAtWork: IsAtWork = ({ command, outcome }) =>
    command === "sync" && outcome === "running" && isSyncAtWork;
  const newest = runs.slice(0, newestMax);
  const failed = runs.filter((run) => drawnOf(run) !== "good" && !isAtWork(run));
  const told = failed.filter((run) => !newest.includes(run)).slice(0, toldMax);
  const more = failed.filter((run) => !newest.includes(run)).length - told.length;
  const first = runs.at(-1);
  return card(
    {
      id: "runs",
      title: "Runs",
      about: `${runs.length === runsMax ? "more than " : ""}${formatCounted(runs.length, "run")} of all commands in ${runDays} days, ${failed.length === 0 ? "all succeeded" : `${formatCount(failed.length)} unsuccessful`}`,
    },
    html`${first === undefined ? html`<p>Nothing ran in the last ${runDays} days.</p>` : html`${legend}${days(runs, first, now)}`}
${newest.length === 0 ? "" : html`<h3>Newest runs</h3>${table(newest, isAtWork)}`}
${told.length === 0 ? "" : html`<h3>Earlier unsuccessful runs</h3>${table(told, isAtWork)}`}
${more > 0 ? html`<p class="remark">and ${formatCount(more)} more, in the table <code>sync_runs</code></p>` : ""}`,
  );
}

const legend = html`<p class="legend">
<span><svg class="cell sample" viewBox="0 0 8 16" aria-hidden="true"><rect class="good" x="2" y="4" width="4" height="8"/></svg> succeeded</span>
<span><svg class="cell sample" viewBox="0 0 8 16" aria-hidden="true"><rect class="failed" x="2" y="0" width="4" height="16"/></svg> unsuccessful</span>
<span><svg class="cell sample" viewBox="0 0 8 16" aria-hidden="true"><rect class="open" x="2" y="4" width="4" height="8"/></svg> at work, or killed</span></p>`;

const width = 480;

/** A line for each day since the first run, with a cell for each run at its time of day. */
function days(runs: readonly LoggedRun[], first: LoggedRun, now: EpochMs): Html {
  const today = Math.floor(now / dayMs);
  const byDay = Map.groupBy(runs, ({ startedAt }) => Math.floor(startedAt / dayMs));
  const since = Math.max(today - runDays + 1, Math.floor(first.startedAt / dayMs));
  const all = Array.from({ length: Math.max(1, today - since + 1) }, (_, ago) => today - ago);
  return html`<ol class="days">${all.map((day) => dayLine(epochMs(day * dayMs), byDay.get(day) ?? []))}</ol>`;
}

function dayLine(day: EpochMs, runs: readonly LoggedRun[]): Html {
  // Narrow enough that hourly (24) or five-minutely (288) runs do not touch.
  const cell = Math.max(1, Math.min(14, width / Math.max(24, runs.length) - 1));
  const kinds: readonly (readonly [Drawn, number, number])[] = [
    ["good", 4, 8],
    ["open", 4, 8],
    ["failed", 0, 16],
  ];
  const path = (kind: Drawn, top: number, tall: number) => {
    const own = runs.filter((run) => drawnOf(run) === kind);
    const boxes = own.map(({ startedAt }) => {
      const left = Math.round(((startedAt - day) / dayMs) * (width - cell) * 10) / 10;
      return `M${left} ${top}h${cell}v${tall}h${-cell}z`;
    });
    return boxes.length === 0 ? "" : html`<path class="${kind}" d="${boxes.join("")}"/>`;
  };
  const failed = runs.filter((run) => drawnOf(run) === "failed").length;
  const words = `${formatCounted(runs.length, "run")}${failed === 0 ? "" : `, ${failed} unsuccessful`}`;
  return html`<li><time datetime="${isoTime(day).slice(0, 10)}">${isoTime(day).slice(5, 10)}</time>
<svg class="cell" viewBox="0 0 ${width} 16" preserveAspectRatio="none" role="img" aria-label="${words}">${kinds.map(([kind, top, tall]) => path(kind, top, tall))}</svg>
<span class="note">${runs.length === 0 ? "none" : words}</span></li>`;
}

type IsAtWork = (run: LoggedRun) => boolean;

const table = (runs: readonly LoggedRun[], isAtWork: IsAtWork): Html => html`
<table class="runs stacked">
<thead><tr><th scope="col">Started</th><th scope="col">Command</th><th scope="col">Outcome</th><th scope="col" class="figure">Took</th><th scope="col">Why</th></tr></thead>
<tbody>${runs.map(
  (
    run,
  ) => html`<tr><th scope="row">${timeTag(run.startedAt)}</th><td data-name="Command">${run.command}</td>
<td data-name="Outcome">${isAtWork(run) ? chip("work", "at work") : outcomeChip(run)}</td>
<td class="figure" data-name="Took">${run.finishedAt === undefined ? "–" : tookText(run.finishedAt - run.startedAt)}</td>
<td class="why">${isAtWork(run) ? "" : whyOf(run)}</td></tr>`,
)}</tbody></table>`;

const tookText = (ms: number): string => (ms < minuteMs ? formatDuration(ms) : lengthText(ms));

function outcomeChip(run: LoggedRun): Html {
  const { outcome } = run;
  if (outcome === "running") return chip("warn", "no end");
  const found = foundBreaks(run);
  return found === undefined
    ? chip(outcomes[outcome], outcomeWords(outcome))
    : chip("warn", `found ${formatCounted(found, "break")}`);
}

/** How many breaks a reconcile found; undefined if it did not finish, or found none. */
const foundBreaks = ({ command, outcome, counts, error }: LoggedRun): number | undefined =>
  command === "reconcile" && outcome === "incomplete" && error === null
    ? numberIn(counts, "breaks")
    : undefined;

const outcomes: Readonly<Record<Exclude<LoggedRun["outcome"], "running">, Icon>> = {
  complete: "good",
  incomplete: "warn",
  stopped: "warn",
  failed: "bad",
  held: "none",
};

// An error may quote an exchange's answer, which may be a page of HTML.
const whyMax = 300;

/** The run log's reason. */
function whyOf(run: LoggedRun): HtmlPart {
  const { outcome, error } = run;
  if (error !== null) return error.length > whyMax ? `${error.slice(0, whyMax)}…` : error;
  switch (outcome) {
    case "complete":
      return "";
    case "held":
      return "another run was at work, and did it";
    case "running":
      return "it is still at work, was killed, or the database was away at its end";
    case "stopped":
      return "stopped by Ctrl-C or SIGTERM";
    default:
      return foundBreaks(run) === undefined
        ? html`something was lost, rejected or left open: see the <a href="#ledgers">ledgers</a>`
        : html`it came to its end, and not everything added up: see the <a href="#breaks">breaks</a>`;
  }
}

const numberIn = (counts: unknown, name: string): number | undefined => {
  if (typeof counts !== "object" || counts === null || !(name in counts)) return undefined;
  const value: unknown = Reflect.get(counts, name);
  return typeof value === "number" ? value : undefined;
};
