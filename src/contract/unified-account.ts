import { z } from "zod";
import type { Operation } from "./operation.ts";
import { optionalText, text } from "./scalars.ts";
import { secondMs } from "./time.ts";

/**
 * Get Account Settings: in which mode a unified account is. Known words are `unified` and `hybrid`,
 * and on the way there `upgrading` and `switching`. A classic account is refused.
 */
export const accountSettings = {
  name: "account settings",
  method: "GET",
  path: "/api/v3/account/settings",
  access: "signed",
  query: z.strictObject({}),
  data: z.looseObject({ accountMode: text }),
  limit: { requests: 20, perMs: secondMs, scope: "uid" },
} as const satisfies Operation;

/** Texts in a list, or in one text between commas; none where there is nothing. */
const texts = z
  .union([z.array(text), z.string().transform((list) => list.split(/[\s,]+/))])
  .nullish()
  .transform((list) => (list ?? []).filter((one) => one !== ""));

/** Get Account Info: whose a key is, and what it may do. It needs no right of its own. */
export const accountInfo = {
  name: "account info",
  method: "GET",
  path: "/api/v3/account/info",
  access: "signed",
  query: z.strictObject({}),
  data: z.looseObject({
    userId: optionalText,
    /** Of sub-accounts only. */
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
