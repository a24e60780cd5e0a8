import { z } from "zod";
import type { Operation } from "./operation.ts";
import { optionalText, text } from "./scalars.ts";

/** Whose key it is, and what the exchange lets it do. Both APIs tell it, in words of their own. */
export type KeyInfo = {
  /** The exchange's user; null where the answer names none. */
  readonly userId: string | null;
  readonly mayOnlyRead: boolean;
  /** Its rights in the exchange's words; for a classic account, those beyond reading. */
  readonly rights: readonly string[];
  readonly readsTax: boolean;
  /** The addresses that the key is bound to. */
  readonly ips: readonly string[];
};

/** Strings as a list, or in one string separated by commas or spaces; empty where there are none. */
const texts = z
  .union([z.array(text), z.string().transform((list) => list.split(/[\s,]+/))])
  .nullish()
  .transform((list) => (list ?? []).filter((one) => one !== ""));

/** The authorities that only read, as documented; `readonly` in older answers. All others may do more. */
const readAuthorities: ReadonlySet<string> = new Set([
  ...["coor", "cpor", "stor", "smor", "ttor", "wtor", "taxr", "chor", "p2pr", "pllr", "readonly"],
]);

/** Get Account Information of a classic account. The key needs the right to read spot. */
const classicKeyInfo = {
  name: "account information",
  path: "/api/v2/spot/account/info",
  access: "signed",
  query: z.strictObject({}),
  data: z
    .looseObject({ userId: optionalText, authorities: texts, ips: texts })
    .transform(({ userId, authorities, ips }): KeyInfo => {
      const rights = authorities.filter((word) => !readAuthorities.has(word));
      const readsTax = authorities.some((word) => /^tax[rw]$/.test(word));
      return { userId, mayOnlyRead: rights.length === 0, rights, readsTax, ips };
    }),
  limit: { requests: 1, scope: "uid" },
} as const satisfies Operation;

/**
 * Get Account Info of a unified account. The key needs no right for it. `permType` is `read-only`, `read-and-write` or
 * `read_and_write`, among `permissions` are `uta_mgt`, `uta_trade` and `withdraw`. UTA management reads tax records, too.
 */
const unifiedKeyInfo = {
  name: "account info",
  path: "/api/v3/account/info",
  access: "signed",
  query: z.strictObject({}),
  data: z
    .looseObject({ userId: optionalText, permType: optionalText, permissions: texts, ips: texts })
    .transform(({ userId, permType, permissions: rights, ips }): KeyInfo => {
      const mayOnlyRead =
        permType === null
          ? !rights.some((word) => /trade|transfer|withdraw/i.test(word))
          : /^read[-_ ]?only$/i.test(permType);
      const readsTax = rights.some((word) => /tax|uta_mgt/i.test(word));
      return { userId, mayOnlyRead, rights, readsTax, ips };
    }),
  limit: { requests: 5, scope: "uid" },
} as const satisfies Operation;

/** By the mode of the account. */
export const keyInfo = { classic: classicKeyInfo, unified: unifiedKeyInfo };
