import { sql } from "drizzle-orm";
import type { Queryable } from "../../db/connect.ts";
import { Refusal } from "../../exchange-server/source.ts";
import { modeOf } from "../../sync/account-state.ts";
import type { Stream } from "../../sync/store.ts";

/**
 * The refusal for a ledger of which nothing was read. It uses the exchange's own code and message
 * where the reason is known.
 */
export async function refuseUnread(tx: Queryable, stream: Stream): Promise<Refusal> {
  const { account, productType } = stream;
  const { rows } = await tx.execute<{ productType: Stream["productType"] }>(sql`
    select product_type as "productType"
    from streams
    where account = ${account}
      and settled_to is not null`);
  const mode = modeOf(productType);
  const isOther = rows.length > 0 && rows.every((row) => modeOf(row.productType) !== mode);
  if (isOther) return refusedMode(mode);
  return new Refusal(
    503,
    "40725",
    rows.length === 0
      ? `nothing is stored of the account ${account}; let sync read it, or use a key for its new name`
      : `${account}/${productType}: nothing of it was read to its end yet; let sync read it, and try again`,
    { "retry-after": "60" },
  );
}

export const refusedMode = (mode: "classic" | "unified"): Refusal =>
  mode === "classic"
    ? new Refusal(400, "40085", "The account is in Unified Account mode: it has no classic bills")
    : new Refusal(
        400,
        "40084",
        "The account is in Classic Account mode: it has no unified records",
      );
