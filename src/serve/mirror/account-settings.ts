import { readAccountStates } from "../../db/accounts/account-states.ts";
import type { Queryable } from "../../db/connect.ts";
import type { Asked, Served } from "./bill-pages.ts";
import { refusedMode, storedMode } from "./ledger-times.ts";

/** Get Account Settings. Clients choose by it which API to ask for bills. */
export async function serveSettings(tx: Queryable, { key }: Asked): Promise<Served> {
  const { account } = key;
  const { mode } = (await readAccountStates(tx, account)).of(account);
  const is = mode?.is ?? (await storedMode(tx, account));
  return { data: is === "unified" ? { uid: "", accountMode: is } : refusedMode("unified") };
}
