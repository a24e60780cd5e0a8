import { ExchangeError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import type { KeyInfo } from "../contract/key-info.ts";

export type KeyRights = { readonly text: string; readonly remedy: string | undefined };

/** A key's rights as the exchange describes them, and the remedy if there are too many. */
export function keyRightsText(info: KeyInfo | ExchangeError): KeyRights {
  if (info instanceof ExchangeError) {
    const text =
      "the exchange did not tell whose key it is, nor what it may do: the key of a classic account needs the right to " +
      "read spot for it";
    return { text, remedy: undefined };
  }
  const { userId, mayOnlyRead, rights, readsTax, ips } = info;
  const words = rights.map(printableLine).join(", ");
  const parts = [
    userId === null
      ? "the exchange did not tell whose key it is"
      : `user ${printableLine(userId)}'s`,
    mayOnlyRead ? "it may only read" : `it may do more than read${words && `, in ${words}`}`,
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
