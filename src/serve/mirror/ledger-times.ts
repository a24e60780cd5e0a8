import { sql } from "drizzle-orm";
import { billsApiOf } from "../../contract/bills-api.ts";
import { parseExactJson } from "../../contract/json.ts";
import type { EpochMs } from "../../contract/time.ts";
import type { Queryable } from "../../db/connect.ts";
import { onlyRow } from "../../db/sql/only-row.ts";
import { Refusal } from "../../exchange-server/source.ts";
import { readLedgerTimes } from "../../health/ledger-status.ts";
import { ledgerVersion } from "../../ledger/read-bill-page.ts";
import { type AccountMode, modeOf } from "../../sync/account-state.ts";
import type { Stream } from "../../sync/store.ts";
import type { LedgerTimes } from "./holes.ts";

/** What is known about a ledger's time, with the version of the rows that it was read from. */
export type VersionedTimes = LedgerTimes & { readonly version: string };

/**
 * Keeps what was read about each ledger. It has to be read again once the ledger's version differs.
 */
export type KnownLedgers = {
  /** The times as last read; undefined if they never were. */
  kept(stream: Stream): VersionedTimes | undefined;
  /** Reads the times as of the transaction. */
  read(tx: Queryable, stream: Stream, now: EpochMs): Promise<VersionedTimes>;
};

export function knownLedgers(): KnownLedgers {
  const ledgers = new Map<string, VersionedTimes>();
  const nameOf = ({ account, productType }: Stream) => `${account}/${productType}`;
  return {
    kept: (stream) => ledgers.get(nameOf(stream)),
    async read(tx, stream, now) {
      const times = {
        ...(await readLedgerTimes(tx, [stream], now)).of(stream),
        version: await readVersion(tx, stream),
        rejectedTimes: await readRejectedTimes(tx, stream),
      };
      ledgers.set(nameOf(stream), times);
      return times;
    },
  };
}

async function readVersion(tx: Queryable, stream: Stream): Promise<string> {
  const { rows } = await tx.execute<{ version: string }>(sql`
    select ${ledgerVersion(stream)} as version`);
  return onlyRow(rows, "a ledger's version").version;
}

async function readRejectedTimes(tx: Queryable, { account, productType }: Stream) {
  const { rows } = await tx.execute<{ received: string }>(sql`
    select received
    from rejected_bills
    where account = ${account}
      and product_type = ${productType}
      and resolved_at is null
      and superseded_at is null`);
  const { timeOf } = billsApiOf(productType);
  return rows.map(({ received }) => timeOf(parseExactJson(received)));
}

/**
 * The mode of the ledgers that are stored of an account; undefined where there are none, or of both modes.
 */
export async function storedMode(
  tx: Queryable,
  account: string,
): Promise<AccountMode | "both" | undefined> {
  const { rows } = await tx.execute<{ productType: Stream["productType"] }>(sql`
    select product_type as "productType"
    from streams
    where account = ${account}
      and settled_to is not null`);
  const modes = new Set(rows.map(({ productType }) => modeOf(productType)));
  return modes.size > 1 ? "both" : [...modes][0];
}

/**
 * The refusal for a ledger of which nothing was read. It uses the exchange's own code and message
 * where the reason is known.
 */
export async function refuseUnread(
  tx: Queryable,
  { account, productType }: Stream,
): Promise<Refusal> {
  const mode = modeOf(productType);
  const stored = await storedMode(tx, account);
  if (stored !== undefined && stored !== "both" && stored !== mode) return refusedMode(mode);
  return new Refusal(
    503,
    "40725",
    stored === undefined
      ? `nothing is stored of the account ${account}; let sync read it, or use a key for its new name`
      : `${account}/${productType}: nothing of it was read to its end yet; let sync read it, and try again`,
    { "retry-after": "60" },
  );
}

export const refusedMode = (mode: AccountMode): Refusal =>
  mode === "classic"
    ? new Refusal(400, "40085", "The account is in Unified Account mode: it has no classic bills")
    : new Refusal(
        400,
        "40084",
        "The account is in Classic Account mode: it has no unified records",
      );
