import { sql } from "drizzle-orm";
import { readAccountStates } from "../../db/accounts/account-states.ts";
import type { Queryable } from "../../db/connect.ts";
import { modeOf } from "../../sync/account-state.ts";
import type { Stream } from "../../sync/store.ts";
import type { Asked, Served } from "./bill-pages.ts";
import { refusedMode } from "./unread-ledgers.ts";

/** Get Account Settings. Clients choose by it which API to ask for bills. */
export async function serveSettings(tx: Queryable, { key }: Asked): Promise<Served> {
  const { account } = key;
  const { mode } = (await readAccountStates(tx, account)).of(account);
  const is = mode?.is ?? ((await hasUnified(tx, account)) ? "unified" : "classic");
  return { data: is === "unified" ? { uid: "", accountMode: is } : refusedMode("unified") };
}

async function hasUnified(tx: Queryable, account: string): Promise<boolean> {
  const { rows } = await tx.execute<{ productType: Stream["productType"] }>(sql`
    select product_type as "productType"
    from streams
    where account = ${account}
      and settled_to is not null`);
  return rows.length > 0 && rows.every(({ productType }) => modeOf(productType) === "unified");
}
