import { sql } from "drizzle-orm";
import { productTypes } from "../../contract/product-types.ts";
import { type EpochMs, isoTime } from "../../contract/time.ts";
import { type AccountMode, modeOf } from "../../sync/account-state.ts";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";

/**
 * Records an account's mode. Streams of the other mode that were synced are closed, and streams of this
 * mode are opened again. Their bills and windows stay as they are.
 * @param at the exchange's time.
 */
export async function closeStreamsOfOtherMode(
  tx: Transaction,
  account: string,
  mode: AccountMode,
  at: EpochMs,
): Promise<void> {
  const served = textArray(productTypes.filter((productType) => modeOf(productType) === mode));
  await tx.execute(sql`
    insert into streams as known (account, product_type, mode, mode_since)
    values (${account}, '', ${mode}, ${isoTime(at)})
    on conflict (account, product_type) do update
    set
      mode = excluded.mode,
      mode_since = excluded.mode_since
    where known.mode is distinct from excluded.mode`);
  await tx.execute(sql`
    update streams
    set closed_at = null
    where account = ${account}
      and product_type = any(${served}::text[])
      and closed_at is not null`);
  await tx.execute(sql`
    update streams
    set closed_at = ${isoTime(at)}
    where account = ${account}
      and settled_to is not null
      and product_type <> all(${served}::text[])
      and closed_at is null`);
}
