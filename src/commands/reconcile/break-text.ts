import { type Break, breakKinds, type PastDecision } from "../../audit/breaks.ts";
import { epochMs } from "../../contract/time.ts";
import { type AccountStates, retiredSince } from "../../db/accounts/account-states.ts";
import { jsonTime } from "../../output/json-times.ts";
import { printableLine } from "../../printable.ts";

/** A break, and whether its ledger is retired: breaks of retired ledgers stay. */
export type Marked<Entry extends Break> = Entry & { readonly isRetired: boolean };

export const markRetired =
  (states: AccountStates) =>
  <Entry extends Break>(entry: Entry): Marked<Entry> => ({
    ...entry,
    isRetired: retiredSince(states.of(entry.account), entry.productType) !== undefined,
  });

/** A break in a few lines. */
export function breakText(entry: Marked<Break>): string {
  const where = [entry.account, entry.productType].filter((part) => part !== "").join("/");
  const amounts =
    entry.expected === null || entry.observed === null
      ? []
      : [`expected ${entry.expected}, observed ${entry.observed}: ${wayOf(entry.difference)}`];
  const bills =
    entry.firstBadBill === null
      ? []
      : [
          `first bad bill ${billName(entry.firstBadProductType, entry.firstBadBill)}, ` +
            `last good bill ${billName(entry.lastGoodProductType, entry.lastGoodBill)}`,
        ];
  const place = [where, entry.coin, entry.happenedAt ?? entry.anchor];
  return [
    `#${entry.breakId} ${entry.kind}: ${breakKinds[entry.kind]}`,
    `   ${printableLine(place.filter((part) => part !== "").join(" "))}${entry.isRetired ? " (retired)" : ""}`,
    ...[...amounts, ...bills, entry.explanation].map((line) => `   ${printableLine(line)}`),
    `   first seen ${entry.firstSeenAt}`,
  ].join("\n");
}

/** "5 too much", "0.1 too little": how the observed amount lies to the expected one. */
const wayOf = (difference: string | null): string =>
  difference?.startsWith("-") ? `${difference.slice(1)} too little` : `${difference} too much`;

/** A bill's name. In a unified account's wallet it includes the bill's category. */
const billName = (productType: string | null, billId: string | null): string =>
  [productType, billId ?? "none"].filter((part) => part !== null).join("/");

/** A break in a few lines, with its state and the decisions on it. */
export function listedText(entry: Marked<Break>): string {
  const state = {
    open: [],
    explained: [],
    resolved: [`   resolved ${entry.resolvedAt}: a check did not find it any more`],
  }[entry.state];
  return [breakText(entry), ...state, ...entry.decisions.map(decisionText)].join("\n");
}

const decisionText = ({ decision, decidedAt, decidedBy, note }: PastDecision): string => {
  const by = decidedBy === null ? "" : ` by ${decidedBy}`;
  const why = note === null ? "" : `: ${note}`;
  return `   ${printableLine(`${decision} ${decidedAt}${by}${why}`)}`;
};

const secondsOf = (time: string | null): string | null =>
  time === null ? null : jsonTime(epochMs(Date.parse(time)));

/** A break for programs, with the decisions on it. Its times are in whole seconds, as in all JSON. */
export const breakJson = (entry: Marked<Break>) => ({
  ...entry,
  happenedAt: secondsOf(entry.happenedAt),
  happenedAtMs: entry.happenedAt === null ? null : Date.parse(entry.happenedAt),
  firstSeenAt: secondsOf(entry.firstSeenAt),
  signedOffAt: secondsOf(entry.signedOffAt),
  resolvedAt: secondsOf(entry.resolvedAt),
  decisions: entry.decisions.map(({ decidedAt, ...decision }) => ({
    ...decision,
    decidedAt: secondsOf(decidedAt),
  })),
});
