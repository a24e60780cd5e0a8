import { sql } from "drizzle-orm";
import type { KeyInfo } from "../../src/core/contract/key-info.ts";
import type { ProductType } from "../../src/core/contract/product-types.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { acceptKey, type NamedKey } from "../../src/core/store/account-key.ts";
import { ExchangeError } from "../../src/lib/errors.ts";
import { type EpochMs, epochMs } from "../../src/lib/time.ts";

const untold = new ExchangeError("refused-permission", "not told");

type Told = {
  /** Default the exchange does not tell the user. */
  readonly info?: KeyInfo | ExchangeError;
  readonly productTypes?: readonly ProductType[];
  readonly horizon?: EpochMs;
};

/** Makes a key an account's, as a run that holds the account does. */
export async function keyIsAccepted(
  db: Database,
  named: NamedKey,
  { info = untold, productTypes = [], horizon = epochMs(0) }: Told = {},
): Promise<void> {
  const { account } = named;
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    values (${account}, '', 1, clock_timestamp())
    on conflict do nothing`);
  await acceptKey(db, named, { info, productTypes }, { horizon, lease: { account, epoch: 1 } });
}
