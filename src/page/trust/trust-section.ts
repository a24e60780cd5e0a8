import { coverageShare } from "../../reports/stream-times.ts";
import { formatCounted } from "../../terminal/format.ts";
import { type Html, html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import { type Facts, isLive, missingOf } from "./facts.ts";
import { headlineOf, headlines } from "./headline.ts";
import { nextCommands } from "./next-commands.ts";
import { sentenceOf } from "./sentence.ts";
import { tiles } from "./tiles.ts";
import { trustOf } from "./trust.ts";

/** The first card: whether the rest of the page can be trusted. */
export function trustSection(facts: Facts): Html {
  const trust = trustOf(facts);
  const headline = headlineOf(trust);
  const { tone, title } = headlines[headline];
  const commands = nextCommands(trust);
  return html`
<section class="card trust ${tone}" id="trust" aria-labelledby="trust-title">
<h1 id="trust-title">${icon(tone)}${title}</h1>
<p>${sentenceOf(headline, facts, trust)}</p>
${
  commands.length === 0
    ? ""
    : html`<p class="command">Next: ${joined(
        commands.map((command) => html`<code>${command}</code>`),
        " then ",
      )}</p>`
}
${facts.variables === undefined ? "" : variablesFold(facts.variables)}
${headline === "at work" ? progress(facts) : ""}
${headline === "nothing" ? "" : tiles(facts, trust)}
</section>`;
}

/** Variables to set in a shell before the commands of this page. */
const variablesFold = (variables: string): Html => html`<details id="variables">
<summary>This is a demo: type this first, in another terminal, then the commands of this page</summary>
<pre tabindex="0">${variables
  .trimEnd()
  .split("\n")
  .map((line) => `export ${line}\n`)}</pre></details>`;

/** The page's title, which tabs and bookmarks show. */
export const titleOf = (facts: Facts): string =>
  `${headlines[headlineOf(trustOf(facts))].title} – bill-sync`;

/**
 * The stored share of the time that runs should read, over all live ledgers. Those of demo trading
 * count once the others are read.
 */
function progress({ streams, demoStreams }: Facts): Html {
  const own = streams.filter(isLive);
  const live = own.some((stream) => missingOf(stream).length > 0)
    ? own
    : [...own, ...demoStreams.filter(isLive)];
  const of = (name: "coverage" | "settling" | "unproven" | "gaps" | "lost") =>
    live.flatMap((stream) => stream[name]);
  const share = coverageShare({
    coverage: of("coverage"),
    settling: of("settling"),
    unproven: of("unproven"),
    gaps: of("gaps"),
    lost: of("lost"),
  });
  const bills = live.reduce((sum, stream) => sum + stream.bills, 0);
  const left = live.filter(({ gaps, unproven }) => gaps.length + unproven.length > 0).length;
  const percent = Math.floor(share * 1_000) / 10;
  return html`<p class="progress"><progress max="100" value="${percent}" aria-label="time that was read"></progress>
<span>${percent.toFixed(1)} % of the time is read, ${formatCounted(bills, "bill")} stored, ${left === 0 ? "no ledger" : formatCounted(left, "ledger")} left</span></p>`;
}
