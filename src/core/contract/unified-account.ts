import { z } from "zod";
import type { Operation } from "./operation.ts";
import { optionalText, text } from "./scalars.ts";

/**
 * Get Account Settings: the mode of a unified account, and whose it is. Known modes are `unified` and
 * `hybrid`, and while it changes, `upgrading` and `switching`. The exchange refuses the operation to a
 * classic account.
 */
export const accountSettings = {
  name: "account settings",
  path: "/api/v3/account/settings",
  access: "signed",
  query: z.strictObject({}),
  data: z.looseObject({ accountMode: text, uid: optionalText }),
  limit: { requests: 20, scope: "uid" },
} as const satisfies Operation;
