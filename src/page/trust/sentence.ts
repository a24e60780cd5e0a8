import { formatCount, formatCounted } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { lengthText, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import {
  checkedAt,
  earliest,
  type Facts,
  isLive,
  lostOf,
  missingOf,
  openBreaksOf,
  signedOffOf,
} from "./facts.ts";
import { greatestText } from "./greatest-breaks.ts";
import { behindMaxMs, type Headline, type Trust } from "./headline.ts";
import { expiryText, firstExpiry, listOf, namesOf } from "./tiles.ts";

/** What the headline means here, in a sentence or two. What to type stands below it. */
export function sentenceOf(headline: Headline, facts: Facts, trust: Trust): HtmlPart {
  switch (headline) {
    case "nothing":
      return html`This database has its tables and no bill. <code>npm run doctor</code> checks the key first.`;
    case "demo only":
      return "Its coins are no money, so nothing is said of them here, and nothing is left to do.";
    case "at work":
      return "Figures below are of what is stored so far, and change while it reads.";
    case "breaks":
      return html`${breaksText(facts, trust)}${alsoText(trust)}`;
    case "lost":
      return html`${lostText(facts, trust)}${alsoText({ ...trust, lostMs: 0 })}`;
    case "missing":
      return html`${missingText(facts, trust)}${pausedText(trust)}`;
    case "behind":
      return `All was read up to ${lengthText(trust.behindMs)} ago, and nothing since.${pausedText(trust)}`;
    case "rejected":
      return html`${formatCounted(trust.rejectedRows, "row")} of the exchange ${trust.rejectedRows === 1 ? "was" : "were"} not as its API describes, and <a href="#breaks">kept as it came</a>: no figure below has it. A newer version of this program may be able to read it.`;
    case "restated":
      return html`All was read, and nothing else is wrong. ${restatedText(facts)} <a href="#breaks">What they said before</a> is kept: look at it, and sign it off.`;
    case "unreconciled":
      return unreconciledText(facts, trust);
    case "signed off":
    case "good":
      return goodText(facts);
    default:
      return headline satisfies never;
  }
}

export function breaksText(
  facts: Pick<Facts, "breaks" | "demoAccounts">,
  { repairableBreaks }: Pick<Trust, "repairableBreaks">,
): Html {
  const open = openBreaksOf(facts);
  const beside = open.filter(({ kind }) => kind === "unread").length;
  const own = open.length - beside;
  const more =
    own === 0
      ? `${formatCounted(beside, "balance")} beside time that was not read ${beside === 1 ? "does" : "do"} not follow.`
      : `${formatCounted(own, "break")} ${own === 1 ? "is" : "are"} open${beside === 0 ? "." : `, and ${formatCount(beside)} more beside time that was not read.`}`;
  const lasting =
    repairableBreaks === 0
      ? " The exchange cannot be asked about it again: sign off what is understood."
      : "";
  return html`${more}${greatestText(open)}${lasting}`;
}

/** How many bills were restated since the last sign-off. */
function restatedText(facts: Facts): string {
  const count = openBreaksOf(facts)
    .filter(({ kind }) => kind === "restatement")
    .reduce((sum, { observed }) => sum + Number(observed), 0);
  return `${formatCounted(count, "bill")} ${count === 1 ? "was" : "were"} changed since the last sign-off, by the exchange or by a repair.`;
}

function lostText({ streams }: Facts, { lostMs, lastingBreaks }: Trust): string {
  const lost = streams.filter((stream) => lostOf(stream).length > 0);
  const names = listOf(lost.map(({ stream }) => streamName(stream)));
  const breaks =
    lastingBreaks.length === 0
      ? ""
      : ` Sign off the balances beside them, which do not follow from their bills.`;
  return `${lengthText(lostMs)} of ${names} were never read, and the exchange has deleted their bills. No command brings them back. Balances across them are right; what moved them is not known.${breaks}`;
}

/** What else is wrong, beside what the headline names. */
function alsoText(trust: Trust): string {
  const { lostMs, missingMs, behindMs, rejectedRows } = trust;
  return [
    lostMs > 0 ? ` ${lengthText(lostMs)} are lost for good.` : "",
    missingMs > 0 ? ` ${lengthText(missingMs)} are not read yet.` : "",
    behindMs > behindMaxMs ? ` Nothing was read for ${lengthText(behindMs)}.` : "",
    rejectedRows > 0 ? ` ${formatCounted(rejectedRows, "row")} could not be read.` : "",
    pausedText(trust),
  ].join("");
}

const pausedText = ({ paused }: Trust): string =>
  paused.length === 0
    ? ""
    : ` No sync reads ${listOf(paused)} while ${paused.length === 1 ? "it is" : "they are"} paused.`;

function missingText(facts: Facts, { missingMs, readableMs }: Trust): string {
  const { streams, neverRead, now } = facts;
  const missing = streams.filter((stream) => missingOf(stream).length > 0);
  const names = missing.map(({ stream }) => streamName(stream));
  const first = firstExpiry(missing);
  const time =
    missing.length === 0
      ? ""
      : // All of it is of accounts that changed to the other kind.
        readableMs === 0
        ? `${lengthText(missingMs)} of ${listOf(names)} were not read before the account became of another kind. No sync can read them, unless it is switched back.`
        : `${lengthText(missingMs)} of ${listOf(names)} were not read yet.`;
  const never = namesOf(neverRead);
  const neverText =
    never.length === 0
      ? ""
      : ` ${listOf(never)} ${never.length === 1 ? "was" : "were"} never read.`;
  const expiry = first === undefined ? "" : ` The oldest of it ${expiryText(first, now)}.`;
  return `${time}${neverText}${expiry}`;
}

function unreconciledText(facts: Facts, { outdatedBreaks }: Trust): HtmlPart {
  const chains = facts.chains;
  const since = chains.reduce((sum, { billsSince }) => sum + billsSince, 0);
  const at = earliest(chains.map((chain) => chain.at));
  if (at === undefined || facts.reconciled.lastRunAt === undefined) {
    return "All of the time was read. Whether its balances follow from its bills was not checked yet.";
  }
  const what =
    since > 0
      ? `${formatCounted(since, "bill")} came`
      : outdatedBreaks > 0
        ? "rejected rows were read or accepted"
        : "what bills mean was changed";
  return html`All of the time was read. Since it was last checked, ${timeTag(at)}, ${what}.`;
}

/** When all was checked, and when all bills were read for it, if the last check read less. */
function checkedText(facts: Facts): HtmlPart {
  const at = checkedAt(facts);
  if (at === undefined) return "";
  const { lastRunAt, wholeRunAt } = facts.reconciled;
  const whole =
    wholeRunAt === lastRunAt || wholeRunAt === undefined
      ? ""
      : html` (all bills: ${timeTag(wholeRunAt)})`;
  return html`As reconciled ${timeTag(at)}${whole}: `;
}

function goodText(facts: Facts): HtmlPart {
  const tested = facts.chains.reduce((sum, chain) => sum + chain.tested, 0);
  const known = facts.streams.flatMap(({ coverage }) => coverage.map(({ from }) => from));
  const since = known.length === 0 ? "" : html` from ${timeTag(earliest(known))}`;
  const through = earliest(facts.streams.filter(isLive).map((one) => one.completeThrough));
  const until = through === undefined ? "" : html` to ${timeTag(through)}`;
  const bills = facts.streams.reduce((sum, stream) => sum + stream.bills, 0);
  const others =
    bills > tested
      ? ` ${formatCounted(bills - tested, "bill")} ${bills - tested === 1 ? "has" : "have"} no balance to check.`
      : "";
  return html`${checkedText(facts)}all time${since}${until} was read, and ${balancesText(facts)}${others}`;
}

/** How many balances were checked, and what of them does not follow though no break is open. */
export function balancesText(facts: Facts): string {
  const tested = facts.chains.reduce((sum, chain) => sum + chain.tested, 0);
  const signedOff = signedOffOf(facts).length;
  const balances = `${formatCounted(tested, "balance")} ${tested === 1 ? "follows" : "follow"}`;
  return signedOff === 0
    ? `${balances} from the bills before them.`
    : `${balances} from the bills before them, but for ${formatCounted(signedOff, "break")} that ${signedOff === 1 ? "is" : "are"} signed off.`;
}
