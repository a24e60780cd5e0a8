import { type EpochMs, isoTime, minuteMs } from "../../contract/time.ts";
import type { StreamStatus } from "../../reports/status.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { lengthText, timeTag } from "../format.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { type Icon, icon } from "../icons.ts";
import {
  checkedAt,
  demoBreaksOf,
  earliest,
  type Facts,
  isLive,
  lostOf,
  missingOf,
  type NeverRead,
} from "./facts.ts";
import { behindMaxMs, isUpToDate, type Trust } from "./headline.ts";

/** A figure of the first card, with its meaning and a link to its details. */
type Tile = {
  readonly name: string;
  readonly tone: Icon;
  readonly figure: HtmlPart;
  readonly notes: readonly HtmlPart[];
  readonly href: string;
};

/** The six figures that decide the headline. */
export function tiles(facts: Facts, trust: Trust): Html {
  const all = [
    completeTile(facts, trust),
    missingTile(facts, trust),
    lostTile(facts, trust),
    reconciledTile(facts, trust),
    breaksTile(facts, trust),
    lastSyncTile(facts),
  ];
  return html`<ul class="tiles">${all.map(
    ({ name, tone, figure, notes, href }) => html`<li><a class="tile ${tone}" href="${href}">
<span class="name">${name}</span>
<strong>${icon(tone)}<span>${figure}</span></strong>
${notes.filter((note) => note !== undefined).map((note) => html`<span class="note">${note}</span>`)}</a></li>`,
  )}</ul>`;
}

/** The day of a time. The note has the minute. */
const dayTag = (time: EpochMs): Html =>
  html`<time datetime="${isoTime(time)}">${isoTime(time).slice(0, 10)}</time>`;

const minuteOf = (time: EpochMs): string => `${isoTime(time).slice(11, 16)}Z`;

/** "22 min ago". Never "in 3 s", even if the exchange's clock differs from ours. */
export const ago = (time: EpochMs, now: EpochMs): string =>
  `${lengthText(Math.max(0, now - time))} ago`;

function completeTile({ streams, now }: Facts, trust: Trust): Tile {
  const live = streams.filter(isLive);
  const through = earliest(live.map(({ completeThrough }) => completeThrough));
  const place = { name: "Complete through", href: "#ledgers" };
  if (through === undefined) {
    const unread = live.filter(({ completeThrough }) => completeThrough === undefined);
    return {
      ...place,
      tone: live.length === 0 ? "none" : "warn",
      figure: live.length === 0 ? "–" : "not yet",
      notes:
        live.length === 0 ? ["nothing is read any more"] : [inLedgers(unread.length, live.length)],
    };
  }
  // A run reads ledgers one after the other, so their ends are seconds apart: ends within a minute
  // of the earliest count as equal.
  const last = live.filter(({ completeThrough = 0 }) => completeThrough < through + minuteMs);
  const isApart = last.length < live.length && trust.missingMs > 0;
  return {
    ...place,
    // Only ledgers that are still read count here.
    tone: live.some(hasHole) || trust.behindMs > behindMaxMs ? "warn" : "good",
    figure: dayTag(through),
    notes: [
      `${minuteOf(through)}, ${ago(through, now)}`,
      isApart ? listOf(last.map(({ stream }) => streamName(stream))) : undefined,
    ],
  };
}

const hasHole = (stream: StreamStatus): boolean => missingOf(stream).length > 0;

/** The first two names, and how many more there are. */
export const listOf = (names: readonly string[]): string =>
  names.length <= 2
    ? names.join(" and ")
    : `${names.slice(0, 2).join(", ")} and ${formatCount(names.length - 2)} more`;

const inLedgers = (count: number, of: number): string =>
  of === 1 ? "in the one ledger" : `in ${formatCount(count)} of ${formatCount(of)} ledgers`;

function missingTile(facts: Facts, { missingMs, behindMs }: Trust): Tile {
  const { streams, neverRead, now, isSyncAtWork } = facts;
  const place = { name: "Not read yet", href: "#ledgers" };
  const missing = streams.filter(hasHole);
  if (missing.length === 0 && neverRead.length === 0) {
    return behindMs > behindMaxMs
      ? { ...place, tone: "warn", figure: lengthText(behindMs), notes: ["all that is newer"] }
      : { ...place, tone: "good", figure: "none", notes: ["but the newest minutes"] };
  }
  if (isSyncAtWork) {
    const left = new Set([
      ...missing.map(({ stream }) => streamName(stream)),
      ...namesOf(neverRead),
    ]);
    return {
      ...place,
      tone: "work",
      figure: "being read",
      notes: [formatCounted(left.size, "ledger")],
    };
  }
  const first = firstExpiry(missing);
  return {
    ...place,
    tone: "warn",
    figure:
      missingMs === 0 ? formatCounted(namesOf(neverRead).length, "ledger") : lengthText(missingMs),
    notes: [
      missingMs === 0 ? "never read" : inLedgers(missing.length, streams.length),
      first === undefined ? undefined : expiryText(first, now),
    ],
  };
}

/** The names of ledgers that were never read. */
export const namesOf = (neverRead: readonly NeverRead[]): readonly string[] =>
  neverRead.flatMap(({ account, productTypes }) =>
    productTypes.map((productType) => streamName({ account, productType })),
  );

/** When the first unread time of these streams expires. */
export const firstExpiry = (streams: readonly StreamStatus[]): EpochMs | undefined =>
  streams
    .flatMap(({ expiresAt }) => expiresAt ?? [])
    .toSorted((a, b) => a - b)
    .at(0);

export const expiryText = (first: EpochMs, now: EpochMs): string =>
  first <= now ? "the exchange deletes it now" : `expires in ${lengthText(first - now)}`;

function lostTile({ streams }: Facts, { lostMs }: Trust): Tile {
  const lost = streams.filter((stream) => lostOf(stream).length > 0);
  return {
    name: "Lost for good",
    href: "#ledgers",
    tone: lost.length === 0 ? "good" : "bad",
    figure: lost.length === 0 ? "none" : lengthText(lostMs),
    notes: [lost.length === 0 ? "nothing expired unread" : inLedgers(lost.length, streams.length)],
  };
}

function reconciledTile(facts: Facts, trust: Trust): Tile {
  const { openBreaks = 0, outdatedBreaks, isReconciled: isDone } = trust;
  const place = { name: "Last reconcile", href: "#breaks" };
  const chains = facts.chains;
  const { lastRunAt, wholeRunAt } = facts.reconciled;
  const at = checkedAt(facts);
  if (at === undefined || lastRunAt === undefined) {
    const some = chains.filter((chain) => chain.at !== undefined).length;
    const notes = [
      some === 0 ? html`<code>npm run reconcile</code>` : `${some} of ${chains.length} coins were`,
    ];
    return { ...place, tone: "warn", figure: some === 0 ? "never" : "in part", notes };
  }
  const since = chains.reduce((sum, { billsSince }) => sum + billsSince, 0);
  return {
    ...place,
    // Reconcile checked everything; whether everything adds up is another question.
    tone: isDone ? (isUpToDate(trust) ? "good" : "none") : "warn",
    figure: dayTag(at),
    notes: [
      minuteOf(at) + (since > 0 ? `, ${formatCounted(since, "bill")} since` : ""),
      wholeRunAt === undefined || wholeRunAt === lastRunAt
        ? undefined
        : html`all bills: ${timeTag(wholeRunAt)}`,
      openBreaks > 0 ? "its breaks are open" : undefined,
      isDone || since > 0
        ? undefined
        : outdatedBreaks > 0
          ? "rejected rows were settled since"
          : "what bills mean was changed since",
    ],
  };
}

function breaksTile(facts: Facts, trust: Trust): Tile {
  const { openBreaks, badBreaks, rejectedRows } = trust;
  const rejected =
    rejectedRows === 0 ? "nothing rejected" : formatCounted(rejectedRows, "rejected row");
  const ofDemo = demoBreaksOf(facts).length;
  const demo = ofDemo === 0 ? undefined : `and ${formatCount(ofDemo)} of demo trading`;
  const place = { name: "Open breaks", href: "#breaks", notes: [rejected, demo] };
  if (openBreaks === undefined) return { ...place, tone: "none", figure: "unknown" };
  if (openBreaks > 0)
    return {
      ...place,
      tone: badBreaks > 0 ? "bad" : "warn",
      figure: formatCount(openBreaks),
    };
  if (rejectedRows > 0) {
    return {
      name: "Rejected rows",
      href: "#breaks",
      tone: "warn",
      figure: formatCount(rejectedRows),
      notes: ["no break is open", demo],
    };
  }
  return { ...place, tone: isUpToDate(trust) ? "good" : "none", figure: "none" };
}

/** A run's outcome in words. */
export const outcomeWords = (outcome: string): string =>
  outcome === "incomplete" ? "not complete" : outcome;

function lastSyncTile(facts: Facts): Tile {
  const { lastSync: sync, isSyncAtWork, now } = facts;
  const place = { name: "Last sync", href: "#runs" };
  const later = laterText(facts);
  if (sync === undefined) return { ...place, tone: "none", figure: "none yet", notes: [later] };
  const { startedAt, finishedAt, outcome } = sync;
  if (finishedAt === undefined) {
    return isSyncAtWork
      ? { ...place, tone: "work", figure: "at work", notes: [`begun ${ago(startedAt, now)}`] }
      : { ...place, tone: "warn", figure: "cut short", notes: [timeTag(startedAt), later] };
  }
  const notes = [ago(finishedAt, now), later];
  return outcome === "complete"
    ? { ...place, tone: "good", figure: "done", notes }
    : { ...place, tone: "warn", figure: outcomeWords(outcome), notes };
}

/** What another command did since the last sync. */
function laterText({ status: { lastRun }, lastSync, now }: Facts): string | undefined {
  if (lastRun === undefined || lastRun.command === "sync") return undefined;
  const { command, startedAt, finishedAt, outcome } = lastRun;
  if (finishedAt === undefined) return `${command} begun ${ago(startedAt, now)}`;
  const ended = outcome === "complete" ? "" : ` ${outcomeWords(outcome)}`;
  return `${lastSync === undefined ? "" : "then "}${command}${ended}, ${ago(finishedAt, now)}`;
}
