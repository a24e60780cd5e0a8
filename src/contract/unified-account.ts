import { z } from "zod";
import type { Operation } from "./operation.ts";
import { optionalText, text } from "./scalars.ts";
import { secondMs } from "./time.ts";

/**
 * Get Account Settings: the mode of a unified account, and whose it is. Known modes are `unified` and
 * `hybrid`, and while it changes, `upgrading` and `switching`. The exchange refuses the operation to a
 * classic account.
 */
export const accountSettings = {
  name: "account settings",
  method: "GET",
  path: "/api/v3/account/settings",
  access: "signed",
  query: z.strictObject({}),
  data: z.looseObject({ accountMode: text, uid: optionalText }),
  limit: { requests: 20, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;

/** Strings as a list, or in one string separated by commas or spaces; empty where there are none. */
const texts = z
  .union([z.array(text), z.string().transform((list) => list.split(/[\s,]+/))])
  .nullish()
  .transform((list) => (list ?? []).filter((one) => one !== ""));

/** Get Account Info: the owner and the permissions of a key. The key needs no permission for it. */
export const accountInfo = {
  name: "account info",
  method: "GET",
  path: "/api/v3/account/info",
  access: "signed",
  query: z.strictObject({}),
  data: z.looseObject({
    userId: optionalText,
    /** Sub-accounts only. */
    parentId: optionalText,
    /** Seen: `read-only`, `read-and-write` and `read_and_write`. */
    permType: optionalText,
    /** Seen: `uta_mgt`, `uta_trade`, `withdraw`. */
    permissions: texts,
    /** The addresses that the key is bound to. */
    ips: texts,
  }),
  limit: { requests: 5, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;
