import { isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { timeTag } from "./format.ts";
import { type Html, html } from "./html.ts";
import { pageFoot, pageHead } from "./layout.ts";
import { ledgersSection } from "./ledgers.ts";
import { loansSection } from "./loans.ts";
import {
  isEmpty,
  type Overview,
  type OverviewDeps,
  readBreakDays,
  readOverview,
} from "./overview.ts";
import { askedIn, missedIn, productTypesOf, queryOf, selectionOf } from "./selection.ts";
import { statement } from "./statement.ts";
import { titleOf, todoSection, verdictSection } from "./verdict.ts";
import { readWallets } from "./wallets.ts";

/**
 * Writes each part of the page as soon as it is known, beginning with whether the ledgers can be trusted.
 * All parts show the same moment.
 */
export async function writePage(
  tx: Transaction,
  { query, ...deps }: OverviewDeps & { readonly query: URLSearchParams },
  write: (part: Html) => void,
): Promise<void> {
  const asked = askedIn(query);
  const overview = await readOverview(tx, deps, findIn(query));
  const { now, isSyncAtWork } = overview;
  const wallets = await readWallets(tx, asked);
  const selection = selectionOf(asked, wallets.wallets, now);
  write(
    pageHead(titleOf(overview), "Overview", {
      query: selection === undefined ? "" : queryOf(selection),
      isSyncAtWork,
    }),
  );
  for (const part of liveParts(overview)) write(part);
  if (!isEmpty(overview)) {
    if (selection !== undefined) {
      const breaks = await readBreakDays(tx, selection);
      const missed = missedIn(asked, selection);
      const today = isoTime(now).slice(0, 10);
      const { account } = selection;
      const names = productTypesOf(selection);
      const lost = overview.findings.flatMap(({ kind, ledger, until, ...one }) =>
        kind === "lost" && one.account === account && names.includes(ledger) ? (until ?? []) : [],
      );
      write(await statement(tx, selection, { wallets, missed, breaks, lost, today }));
    }
    write(await loansSection(tx));
  }
  write(
    pageFoot(
      html`Days are UTC. Coins are never added up. Figures are rounded for reading. As of ${timeTag(now)}.`,
    ),
  );
}

export const findIn = (query: URLSearchParams): string => query.get("find")?.trim() ?? "";

/** The parts of the page that change while a sync is at work. Each element has an id. */
export const liveParts = (overview: Overview): readonly Html[] => [
  verdictSection(overview),
  todoSection(overview),
  ledgersSection(overview),
];
