import { jsonTime } from "../../app/json-times.ts";
import { printableLine } from "../../printable.ts";
import type { Alert, AlertName, AlertReason } from "../../reports/alerts.ts";
import type { BreakCount } from "../../reports/break-counts.ts";
import type { CountedAlert } from "../../reports/fleet-alerts.ts";
import { formatCounted, formatDuration, formatTime } from "../../terminal/format.ts";

// Status of breaks, and of alert rules that fire.

const nameOf = (parts: readonly (string | undefined)[]): string =>
  printableLine(parts.filter((part) => part !== undefined && part !== "").join("/"));

/** A line for each wallet and coin that has open breaks. */
export const breaksLines = (breaks: readonly BreakCount[]): readonly string[] =>
  breaks
    .filter((count) => count.state === "open" && count.breaks > 0)
    .map(
      ({ account, productType, coin, breaks: open }) =>
        `${nameOf([account, productType, coin])}: ${formatCounted(open, "open break")}; ` +
        "npm run reconcile -- --list shows what does not add up",
    );

/** A rule that fires, for people and for programs. */
export type ShownAlert = { readonly text: string; readonly json: object };

/** A line for each rule that fires, with its subject. */
export const alertsText = (alerts: readonly ShownAlert[]): string =>
  alerts.length === 0 ? "no alert" : alerts.map(({ text }) => text).join("\n");

export function shownAlert(alert: Alert): ShownAlert {
  const { name, on, why } = alert;
  const text = alertLine(alert);
  const json = why.is === "lost" ? { ...why, at: jsonTime(why.at) } : why;
  return { text, json: { name, ...on, why: json, text } };
}

export const shownCount = ({ name, ledgers }: CountedAlert): ShownAlert =>
  counted(name, { ledgers }, formatCounted(ledgers, "ledger"));

/** @param accounts how many have rows that cannot be read. */
export const unreachableAlert = (accounts: number): ShownAlert =>
  counted("BillSyncUnreachable", { accounts }, formatCounted(accounts, "account"));

function counted(name: AlertName, counts: object, words: string): ShownAlert {
  const text = `ALERT ${name}: ${words}`;
  return { text, json: { name, ...counts, text } };
}

function alertLine({ name, on, why }: Alert): string {
  const isLoan = on.riskUnitId !== undefined;
  const parts = [on.account, on.productType, isLoan ? "loan-to-value" : on.coin, on.riskUnitId];
  const subject = nameOf(parts);
  return `ALERT ${name}: ${subject === "" ? "" : `${subject} `}${reasonText(why)}`;
}

function reasonText(why: AlertReason): string {
  switch (why.is) {
    case "no sync":
      return "no sync has run yet; run sync";
    case "never complete":
      return "was never read completely";
    case "behind":
      return `is complete through ${formatDuration(why.ms)} ago, and no later`;
    case "expires":
      return why.inMs <= 0
        ? "has time that was not read and is being lost"
        : `has time that was not read and is lost in ${formatDuration(why.inMs)}`;
    case "lost":
      return `has lost time, found at ${formatTime(why.at)}`;
    case "rejected":
      return `has ${formatCounted(why.rows, "row")} in rejected_bills`;
    case "breaks":
      return `has ${formatCounted(why.breaks, "open break")}`;
    case "ltv":
      return `is at ${why.ltv}, above ${why.above}`;
    case "ltv unread":
      return `was read ${formatDuration(why.ms)} ago, and not since`;
    default:
      return why satisfies never;
  }
}
