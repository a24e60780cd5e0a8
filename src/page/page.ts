import { dayMs, type EpochMs, epochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { readRuns } from "../reports/runs.ts";
import { timeTag } from "./format.ts";
import { type Html, html } from "./html.ts";
import { type Place, pageFoot, pageHead } from "./layout.ts";
import { walletSections } from "./sections.ts";
import { selectionOf } from "./selection.ts";
import { breaksSection } from "./trust/breaks-section.ts";
import { type Facts, readFacts } from "./trust/facts.ts";
import { ledgersSection } from "./trust/ledgers-section.ts";
import { runDays, runsMax, runsSection } from "./trust/runs-section.ts";
import { titleOf, trustSection } from "./trust/trust-section.ts";

/** What the page is asked for. */
export type Asked = {
  /** The query of its address. */
  readonly query: URLSearchParams;
  /** The newest time that a run leaves unsettled, in ms. */
  readonly settleLagMs: number;
};

/**
 * Writes the page, a part as soon as it is known: what can be trusted first. All of it is of one
 * moment.
 */
export async function writePage(
  tx: Transaction,
  { query, settleLagMs }: Asked,
  write: (part: Html) => void,
): Promise<void> {
  const facts = await readFacts(tx, settleLagMs);
  const { now, wallets, isSyncAtWork } = facts;
  const isEmpty = facts.status.streams.length === 0;
  const selection = isEmpty ? undefined : selectionOf(query, wallets, now);
  const sections = selection === undefined ? [] : walletSections;
  write(pageHead(titleOf(facts), isEmpty ? [] : [...first, ...sections, last], isSyncAtWork));
  for (const part of liveParts(facts, query)) write(part);
  if (!isEmpty) write(await breaksSection(tx, facts));
  if (selection !== undefined) {
    for (const { render } of sections) write(await render({ tx, selection, wallets, now }));
  }
  const since = epochMs(Math.floor(now / dayMs) * dayMs - (runDays - 1) * dayMs);
  const runs = await readRuns(tx, { since, runsMax });
  if (!isEmpty || runs.length > 0) write(runsSection(runs, now, isSyncAtWork));
  write(pageFoot(footNotes(now)));
}

const first: readonly Place[] = [
  { id: "ledgers", title: "Ledgers" },
  { id: "breaks", title: "Breaks" },
];
const last: Place = { id: "runs", title: "Runs" };

/** The parts of the page that change while a sync is at work: elements with an id each. */
export function liveParts(facts: Facts, query: URLSearchParams): readonly Html[] {
  if (facts.status.streams.length === 0) return [trustSection(facts)];
  const selection = selectionOf(query, facts.wallets, facts.now);
  return [trustSection(facts), ledgersSection(facts, selection)];
}

const footNotes = (now: EpochMs): Html =>
  html`<p>Days are UTC. Coins are never added up. Amounts are rounded for reading: rest the pointer on one, or tick “all digits”. Read ${timeTag(now)}.</p>`;
