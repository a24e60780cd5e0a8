import { coverageShare } from "../../reports/stream-times.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { allDigits, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html, joined } from "../html.ts";
import { icon } from "../icons.ts";
import { earliest, type Facts, isLive, missingOf, openBreaksOf, trustOf } from "./facts.ts";
import { type Trust, type Verdict, verdictOf, verdicts } from "./headline.ts";
import { coarse, expiryText, firstExpiry, listOf, tiles } from "./tiles.ts";

/** The first card: whether the rest of the page can be trusted. */
export function trustSection(facts: Facts): Html {
  const trust = trustOf(facts);
  const verdict = verdictOf(trust);
  const { tone, title } = verdicts[verdict];
  const { text, commands = [] } = sentenceOf(verdict, facts, trust);
  return html`
<section class="card trust ${tone}" id="trust" aria-labelledby="trust-title">
<h1 id="trust-title">${icon(tone)}${title}</h1>
<p>${text}</p>
${
  commands.length === 0
    ? ""
    : html`<p class="command">Next: ${joined(
        commands.map((command) => html`<code>${command}</code>`),
        " then ",
      )}</p>`
}
${facts.variables === undefined ? "" : variablesFold(facts.variables)}
${verdict === "at work" ? progress(facts) : ""}
${verdict === "nothing" ? "" : tiles(facts, trust)}
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
  `${verdicts[verdictOf(trustOf(facts))].title} – bill-sync`;

/** The stored share of the time that runs should read, over all live ledgers. */
function progress({ streams, demoStreams }: Facts): Html {
  const live = [...streams, ...demoStreams].filter(isLive);
  const of = (name: "coverage" | "settling" | "unproven" | "gaps" | "expired") =>
    live.flatMap((stream) => stream[name]);
  const share = coverageShare({
    coverage: of("coverage"),
    settling: of("settling"),
    unproven: of("unproven"),
    gaps: of("gaps"),
    expired: of("expired"),
  });
  const bills = live.reduce((sum, stream) => sum + stream.bills, 0);
  const left = live.filter(({ gaps, unproven }) => gaps.length + unproven.length > 0).length;
  const percent = Math.floor(share * 1_000) / 10;
  return html`<p class="progress"><progress max="100" value="${percent}" aria-label="time that was read"></progress>
<span>${percent.toFixed(1)} % of the time is read, ${formatCounted(bills, "bill")} stored, ${left === 0 ? "no ledger" : formatCounted(left, "ledger")} left</span></p>`;
}

type Sentence = { readonly text: HtmlPart; readonly commands?: readonly string[] };

function sentenceOf(verdict: Verdict, facts: Facts, trust: Trust): Sentence {
  switch (verdict) {
    case "nothing":
      return {
        text: html`This database has its tables and no bill. <code>npm run doctor</code> checks the key first.`,
        commands: ["npm run sync"],
      };
    case "demo only":
      return { text: "Its coins are no money, so nothing is said of them here." };
    case "at work":
      return { text: "Figures below are of what is stored so far, and change while it reads." };
    case "breaks":
      return {
        text: breaksText(facts, trust),
        // A break may be a bill that was not read yet, so a sync comes first.
        commands: [
          ...(trust.missingMs > 0 && !isOutOfReach(facts) ? ["npm run sync"] : []),
          "npm run reconcile -- --repair",
        ],
      };
    case "lost":
      return {
        text: `${coarse(trust.lostMs)} were never read, and the exchange has deleted their bills. Balances across them are right; what moved them is not known.`,
      };
    case "missing":
      return {
        text: missingText(facts, trust),
        commands: isOutOfReach(facts) ? [] : ["npm run sync"],
      };
    case "behind":
      return {
        text: `All was read up to ${coarse(trust.behindMs)} ago, and nothing since.`,
        commands: ["npm run sync"],
      };
    case "rejected":
      return {
        text: `${formatCounted(trust.rejectedRows, "row")} of the exchange broke its contract. They are kept as they came, and are in no figure below.`,
        commands: ["npm run replay"],
      };
    case "unreconciled":
      return { text: unreconciledText(facts), commands: ["npm run reconcile"] };
    case "good":
      return { text: goodText(facts) };
    default:
      return verdict satisfies never;
  }
}

function breaksText(facts: Facts, trust: Trust): HtmlPart {
  const open = openBreaksOf(facts);
  // A hole explains the breaks beside it.
  const first = open.find(({ kind }) => kind !== "unread") ?? open[0];
  const link = html`<a href="#break-${first?.breakId}">#${first?.breakId}</a>`;
  const off =
    first?.difference == null
      ? ""
      : html` ${link} is off by ${allDigits(first.difference, "+")} ${first.coin}.`;
  const beside = open.filter(({ kind }) => kind === "unread").length;
  const own = open.length - beside;
  const more =
    own === 0
      ? `${formatCounted(beside, "balance")} beside time that was not read ${beside === 1 ? "does" : "do"} not follow.`
      : `${formatCounted(own, "break")} ${own === 1 ? "is" : "are"} open${beside === 0 ? "." : `, and ${formatCount(beside)} more beside time that was not read.`}`;
  return html`${more}${off}${
    trust.lostMs > 0 ? ` ${coarse(trust.lostMs)} are lost for good.` : ""
  }${trust.missingMs > 0 ? ` ${coarse(trust.missingMs)} are not read yet.` : ""}`;
}

/**
 * Whether all unread time belongs to accounts that changed to the other kind: no sync can read it.
 */
const isOutOfReach = ({ streams, neverRead }: Facts): boolean =>
  neverRead.length === 0 &&
  streams.every((stream) => stream.closedAt !== undefined || missingOf(stream).length === 0);

function missingText(facts: Facts, { missingMs }: Trust): HtmlPart {
  const { streams, neverRead, now } = facts;
  const missing = streams.filter((stream) => missingOf(stream).length > 0);
  const names = missing.map(({ stream }) => streamName(stream));
  const first = firstExpiry(missing);
  const time =
    missing.length === 0
      ? ""
      : isOutOfReach(facts)
        ? `${coarse(missingMs)} of ${listOf(names)} were not read before the account became of another kind. No sync can read them, unless it is switched back.`
        : `${coarse(missingMs)} of ${listOf(names)} were not read yet.`;
  const never = neverRead.flatMap(({ account, productTypes }) =>
    productTypes.map((productType) => streamName({ account, productType })),
  );
  const neverText =
    never.length === 0
      ? ""
      : ` ${listOf(never)} ${never.length === 1 ? "was" : "were"} never read.`;
  const expiry = first === undefined ? "" : ` The oldest of it ${expiryText(first, now)}.`;
  return `${time}${neverText}${expiry}`;
}

function unreconciledText(facts: Facts): HtmlPart {
  const chains = facts.chains;
  const since = chains.reduce((sum, { billsSince }) => sum + billsSince, 0);
  const at = earliest(chains.map((chain) => chain.at));
  if (at === undefined || facts.reconciled.lastRunAt === undefined) {
    return "All of the time was read. Whether its balances follow from its bills was not checked yet.";
  }
  const what = since === 0 ? "what bills mean was changed" : `${formatCounted(since, "bill")} came`;
  return html`All of the time was read. Since it was last checked, ${timeTag(at)}, ${what}.`;
}

function goodText(facts: Facts): HtmlPart {
  const tested = facts.chains.reduce((sum, chain) => sum + chain.tested, 0);
  const known = facts.streams.flatMap(({ coverage }) => coverage.map(({ from }) => from));
  const since = known.length === 0 ? "" : html` since ${timeTag(earliest(known))}`;
  const bills = facts.streams.reduce((sum, stream) => sum + stream.bills, 0);
  const others =
    bills > tested
      ? ` With the other ${formatCounted(bills - tested, "bill")} the exchange shows no balance, or none before it.`
      : "";
  return html`Every moment${since} was read, and ${formatCount(tested)} balances follow from the bills before them.${others}`;
}
