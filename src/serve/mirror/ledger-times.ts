import { sql } from "drizzle-orm";
import { billsApiOf } from "../../contract/bills-api.ts";
import { parseExactJson } from "../../contract/json.ts";
import type { EpochMs } from "../../contract/time.ts";
import type { Queryable } from "../../db/connect.ts";
import { onlyRow } from "../../db/sql/only-row.ts";
import { msOf, timeFrom } from "../../db/sql/time-text.ts";
import { readReading } from "../../health/stream-rows.ts";
import { type Reading, streamTimes } from "../../health/stream-times.ts";
import { readKnownTime } from "../../ledger/known-time.ts";
import { ledgerVersion } from "../../ledger/read-bill-page.ts";
import { subtract, union } from "../../sync/intervals.ts";
import type { KnownTime, Stream } from "../../sync/store.ts";
import type { LedgerTimes } from "./holes.ts";

/** What is known about a ledger's time, with the version of the rows that it was read from. */
type Recorded = {
  readonly version: string;
  readonly known: KnownTime;
  readonly reading: Reading;
  readonly rejected: LedgerTimes["rejected"];
  readonly closedAt: EpochMs | undefined;
};

/**
 * Keeps what was read about each ledger. It has to be read again once the ledger's version differs.
 */
export type KnownLedgers = {
  /** The times as last read; undefined if they never were. */
  kept(stream: Stream, now: EpochMs): VersionedTimes | undefined;
  /** Reads the times as of the transaction. */
  read(tx: Queryable, stream: Stream, now: EpochMs): Promise<VersionedTimes>;
};

export type VersionedTimes = LedgerTimes & { readonly version: string };

export function knownLedgers(settleLagMs: number): KnownLedgers {
  const ledgers = new Map<string, Recorded>();
  const nameOf = ({ account, productType }: Stream) => `${account}/${productType}`;
  const timesOf = ({ known, reading, ...recorded }: Recorded, now: EpochMs): VersionedTimes => ({
    ...streamTimes(known, reading, { now, settleLagMs }),
    ...recorded,
  });
  return {
    kept(stream, now) {
      const recorded = ledgers.get(nameOf(stream));
      return recorded && timesOf(recorded, now);
    },
    async read(tx, stream, now) {
      const recorded = await readRecorded(tx, stream);
      ledgers.set(nameOf(stream), recorded);
      return timesOf(recorded, now);
    },
  };
}

async function readRecorded(tx: Queryable, stream: Stream): Promise<Recorded> {
  const [states, known, reading, rejected, accepted] = await Promise.all([
    readVersion(tx, stream),
    readKnownTime(tx, stream),
    readReading(tx, stream),
    readRejectedTimes(tx, stream),
    readAcceptedLoss(tx, stream),
  ]);
  const coverage = union([...known.coverage, ...accepted]);
  const lost = subtract(known.lost, accepted);
  return { ...states, known: { ...known, coverage, lost }, reading, rejected };
}

/** Time whose loss somebody has accepted: it is answered as what was read. */
async function readAcceptedLoss(tx: Queryable, { account, productType }: Stream) {
  const { rows } = await tx.execute<{ since: string; until: string }>(sql`
    select
      ${msOf(sql`happened_at`)} as since,
      ${msOf(sql`(happened_at + difference * interval '1 ms')`)} as until
    from ledger_breaks
    where account = ${account}
      and product_type = ${productType}
      and kind = 'lost'
      and state = 'accepted'`);
  return rows.map(({ since, until }) => ({ from: timeFrom(since), to: timeFrom(until) }));
}

async function readVersion(tx: Queryable, stream: Stream) {
  const { rows } = await tx.execute<{ version: string; closed_at: string | null }>(sql`
    select
      ${ledgerVersion(stream)} as version,
      (
        select ${msOf(sql`closed_at`)}
        from streams
        where account = ${stream.account}
          and product_type = ${stream.productType}
      ) as closed_at`);
  const { version, closed_at } = onlyRow(rows, "a ledger's version");
  return { version, closedAt: timeFrom(closed_at) };
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
