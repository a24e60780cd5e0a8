import { sql } from "drizzle-orm";
import { billsApiOf } from "../../contract/bills-api.ts";
import { parseExactJson } from "../../contract/json.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { Queryable } from "../../db/connect.ts";
import { readKnownTime } from "../../db/ledger/known-time.ts";
import { readReading } from "../../reports/stream-rows.ts";
import { type Reading, streamTimes } from "../../reports/stream-times.ts";
import type { KnownTime, Stream } from "../../sync/store.ts";
import type { LedgerTimes } from "./holes.ts";

type Recorded = {
  readonly known: KnownTime;
  readonly reading: Reading;
  readonly rejected: LedgerTimes["rejected"];
};

/** Reads what is known of a ledger's time, as of the transaction. */
export type ReadLedgerTimes = (tx: Queryable, stream: Stream, now: EpochMs) => Promise<LedgerTimes>;

/**
 * Keeps what it has read until a row of it has changed. Each new row version bears a later transaction's
 * number, and one that was deleted is missing in the count.
 */
export function ledgerTimesReader(settleLagMs: number): ReadLedgerTimes {
  const kept = new Map<string, { readonly version: string; readonly recorded: Recorded }>();
  return async (tx, stream, now) => {
    const { version, closedAt } = await readVersion(tx, stream);
    const name = `${stream.account}/${stream.productType}`;
    const last = kept.get(name);
    const recorded = last?.version === version ? last.recorded : await readRecorded(tx, stream);
    kept.set(name, { version, recorded });
    const { known, reading, rejected } = recorded;
    return { ...streamTimes(known, reading, { now, settleLagMs }), closedAt, rejected };
  };
}

async function readVersion(tx: Queryable, { account, productType }: Stream) {
  const { rows } = await tx.execute<{ version: string; closed_at: string | null }>(sql`
    select
      (
        select concat_ws('/', count(*), max(xmin::text::bigint))
        from checkpoints
        where account = ${account}
          and product_type = ${productType}
      ) || ' ' || (
        select concat_ws('/', count(*), max(xmin::text::bigint))
        from rejected_bills
        where account = ${account}
          and product_type = ${productType}
          and resolved_at is null
          and superseded_at is null
      ) as version,
      (
        select extract(epoch from closed_at) * 1000
        from stream_states
        where account = ${account}
          and product_type = ${productType}
      ) as closed_at`);
  const { version = "", closed_at = null } = rows[0] ?? {};
  return { version, closedAt: closed_at === null ? undefined : epochMs(Number(closed_at)) };
}

async function readRecorded(tx: Queryable, stream: Stream): Promise<Recorded> {
  const [known, reading, rejected] = await Promise.all([
    readKnownTime(tx, stream),
    readReading(tx, stream),
    readRejectedTimes(tx, stream),
  ]);
  return { known, reading, rejected };
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
