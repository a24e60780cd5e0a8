import { dayMs, type EpochMs, epochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { readRuns } from "../reports/runs.ts";
import { timeTag } from "./format.ts";
import { type Html, html } from "./html.ts";
import { type Place, pageFoot, pageHead } from "./layout.ts";
import type { WalletContext, WalletSection } from "./section.ts";
import { walletSections } from "./sections.ts";
import { readShown, type Shown } from "./shown.ts";
import { breaksSection } from "./trust/breaks-section.ts";
import { checkedChain, type Facts, type FactsDeps, readFacts } from "./trust/facts.ts";
import { ledgersSection } from "./trust/ledgers-section.ts";
import { runDays, runsMax, runsSection } from "./trust/runs-section.ts";
import { titleOf, trustSection } from "./trust/trust-section.ts";

/** A request for the page. */
export type Asked = FactsDeps & {
  /** The query of the page's address. */
  readonly query: URLSearchParams;
};

/**
 * Writes each part of the page as soon as it is known, beginning with whether the ledgers can be
 * trusted. All parts show the same moment.
 */
export async function writePage(
  tx: Transaction,
  { query, ...deps }: Asked,
  write: (part: Html) => void,
): Promise<void> {
  const facts = await readFacts(tx, deps);
  const { now, isSyncAtWork } = facts;
  const isEmpty = facts.status.streams.length === 0;
  const shown = await readShown(tx, query, now);
  const { selection, wallets, missed } = shown;
  const context = selection && {
    ...{ tx, selection, wallets, missed, now },
    chain: checkedChain(facts, selection),
  };
  const sections = context === undefined ? [] : await sectionsOf(context);
  write(pageHead(titleOf(facts), isEmpty ? [] : [...first, ...sections, last], isSyncAtWork));
  for (const part of liveParts(facts, shown)) write(part);
  if (!isEmpty) write(await breaksSection(tx, facts));
  if (context !== undefined) {
    for (const { render } of sections) write(await render(context));
  }
  const since = epochMs(Math.floor(now / dayMs) * dayMs - (runDays - 1) * dayMs);
  const runs = await readRuns(tx, { since, runsMax });
  if (!isEmpty || runs.length > 0) write(runsSection(runs, now, isSyncAtWork));
  write(pageFoot(footNotes(now)));
}

async function sectionsOf(context: WalletContext): Promise<readonly WalletSection[]> {
  const there: WalletSection[] = [];
  for (const section of walletSections) {
    if ((await section.isThere?.(context)) ?? true) there.push(section);
  }
  return there;
}

const first: readonly Place[] = [
  { id: "ledgers", title: "Ledgers" },
  { id: "breaks", title: "Breaks" },
];
const last: Place = { id: "runs", title: "Runs" };

/** The parts of the page that change while a sync is at work. Each element has an id. */
export const liveParts = (facts: Facts, shown: Shown): readonly Html[] =>
  facts.status.streams.length === 0
    ? [trustSection(facts)]
    : [trustSection(facts), ledgersSection(facts, shown)];

const footNotes = (now: EpochMs): Html =>
  html`<p>Days are UTC. Coins are never added up. Amounts are rounded for reading: <span class="pointer">rest the pointer on one, or </span>tick “all digits”. Read ${timeTag(now)}.</p>`;
