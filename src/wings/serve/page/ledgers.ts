import { type Finding, severityOf } from "../../../check/health/kinds.ts";
import { type EpochMs, isoTime } from "../../../lib/time.ts";
import { timeTag } from "../../../output/format.ts";
import { type Html, html } from "../../../output/html.ts";
import { formatCount, formatCounted, formatDuration } from "../../../output/output-format.ts";
import { block } from "./layout.ts";
import type { Ledger, Overview } from "./overview.ts";
import { toneOf } from "./verdict.ts";

/** Each ledger's time as a strip, the end of what was read, and its state in words. */
export function ledgersSection(overview: Overview): Html {
  const { ledgers, stored, now, find } = overview;
  if (stored === 0) return html`<section id="ledgers" hidden></section>`;
  const [realMoney, demo] = [
    ledgers.filter(({ isDemo }) => !isDemo),
    ledgers.filter(({ isDemo }) => isDemo),
  ];
  const start = Math.min(...ledgers.flatMap(({ periods }) => periods.map(({ from }) => from)), now);
  const isOne = new Set(ledgers.map(({ account }) => account)).size <= 1;
  const table = (
    rows: readonly Ledger[],
  ) => html`<table class="ledgers"><thead><tr><th scope="col">Ledger</th><th scope="col" class="n">Bills</th><th scope="col" class="wide">Read since ${isoTime(start as EpochMs).slice(0, 10)}</th><th scope="col">Read up to</th><th scope="col" class="n">State</th></tr></thead>
<tbody>${rows.map((ledger) => ledgerRow(ledger, { start, now, isOne, isAtWork: overview.isSyncAtWork }))}</tbody></table>`;
  return block(
    {
      id: "ledgers",
      title: "Ledgers",
      beside:
        stored > ledgers.length || find !== ""
          ? html`<form method="get" action="/#ledgers"><small>${formatCount(ledgers.length)} of ${formatCount(stored)}</small> <label><span class="unseen">Part of an account's name</span><input type="search" name="find" value="${find}" placeholder="account"></label><button>Find</button></form>`
          : undefined,
    },
    html`${realMoney.length === 0 ? html`<p>${find === "" ? "There is no ledger of real money." : `No account's name contains “${find}”.`}</p>` : table(realMoney)}
${demo.length === 0 ? "" : html`<details><summary>${formatCounted(demo.length, "ledger")} of demo trading, which is not real money</summary>${table(demo)}</details>`}`,
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
    case "left-unread":
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
