import { ExchangeError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import type { KeyInfo } from "../contract/key-info.ts";

/** What the exchange's words let a key do, the worst first. */
const deeds: readonly (readonly [deed: string, words: RegExp])[] = [
  ["withdraw", /^wwow$|withdraw/i],
  ["transfer", /^wtow$|transfer/i],
  ["trade", /^(?:coow|cpow|stow|smow|ttow|p2p)$|trade/i],
  ["borrow", /^pllw$|loan|borrow/i],
  ["manage sub-accounts", /^chow$/],
  ["manage the account", /^uta_mgt$/i],
];

/** "withdraw, transfer and trade"; a word that nobody knows is shown as it is. */
function deedsOf(rights: readonly string[]): string {
  const known = deeds.filter(([, words]) => rights.some((right) => words.test(right)));
  const unknown = rights.filter((right) => !deeds.some(([, words]) => words.test(right)));
  const all = [
    ...known.map(([deed]) => deed),
    ...(unknown.length === 0
      ? []
      : [`do what the exchange calls ${unknown.map(printableLine).join(", ")}`]),
  ];
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

type KeyRights = { readonly text: string; readonly remedy: string | undefined };

/** A key's rights as the exchange describes them, and the remedy if there are too many. */
export function keyRightsText(info: KeyInfo | ExchangeError): KeyRights {
  if (info instanceof ExchangeError) {
    const text =
      "the exchange did not tell whose key it is, nor what it may do: the key of a classic account needs the right to " +
      "read spot for it";
    return { text, remedy: undefined };
  }
  const { userId, mayOnlyRead, rights, readsTax, ips } = info;
  const more = deedsOf(rights) || "do more than read";
  const parts = [
    userId === null
      ? "the exchange did not tell whose key it is"
      : `user ${printableLine(userId)}'s`,
    mayOnlyRead ? "it may only read" : `it may ${more}`,
    readsTax ? "it can read tax records" : "it has no right to tax records",
    ips.length === 0
      ? "it is bound to no IP address"
      : `it is bound to ${ips.length} IP address${ips.length === 1 ? "" : "es"}`,
  ];
  const remedy = mayOnlyRead ? undefined : "make a key that may only read: bill-sync needs no more";
  return { text: parts.join("; "), remedy };
}

/** The same in one line. */
export function rightsLine(info: KeyInfo | ExchangeError): string {
  const { text, remedy } = keyRightsText(info);
  return `its key is new: ${text}${remedy === undefined ? "" : `; ${remedy}`}`;
}
