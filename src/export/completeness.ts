import { type EpochMs, epochMs } from "../contract/time.ts";
import { readKnownTime } from "../db/checkpoints.ts";
import type { Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { type Interval, interval, subtract } from "../sync/intervals.ts";
import type { KnownTime, Stream } from "../sync/store.ts";
import type { Selection } from "./read-bills.ts";

/** What an export may lack of a stream. */
export type Uncovered = {
  readonly stream: Stream;
  /** Time of the export that is not proven complete. */
  readonly holes: readonly Interval[];
  /** Where no end was asked for: from when on the newest bills are not all read. */
  readonly openFrom: EpochMs | undefined;
};

/** What of the selected time is not proven complete, for each of these streams that lacks some. */
export async function readUncovered(
  tx: Transaction,
  streams: readonly Stream[],
  selection: Selection,
  now: EpochMs,
): Promise<readonly Uncovered[]> {
  const found: Uncovered[] = [];
  for (const stream of streams) {
    const known = await withDatabaseErrors(() => readKnownTime(tx, stream));
    const lack = uncovered(known, selection, now);
    if (lack.holes.length > 0 || lack.openFrom !== undefined) found.push({ stream, ...lack });
  }
  return found;
}

/** Without a beginning, what was ever known of counts; without an end, up to now. */
export function uncovered(
  { coverage, expired, open }: Pick<KnownTime, "coverage" | "expired" | "open">,
  { from, to }: Selection,
  now: EpochMs,
): Omit<Uncovered, "stream"> {
  const times = [...coverage, ...expired, ...open.map(({ window }) => window)];
  const start = from ?? Math.min(...times.map((time) => time.from), now);
  const holes = subtract(interval(start, to ?? now), coverage);
  const last = holes.at(-1);
  if (to !== undefined || last?.to !== now) return { holes, openFrom: undefined };
  return { holes: holes.slice(0, -1), openFrom: epochMs(last.from) };
}
