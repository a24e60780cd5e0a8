import type { BrokenSpan } from "../audit/breaks.ts";
import { noteUnrepaired } from "../audit/record-breaks.ts";
import { epochMs, isoTime } from "../contract/time.ts";
import type { Database } from "../db/connect.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { formatCounted } from "../output/format.ts";
import { streamName } from "../output/stream-names.ts";
import type { Config } from "../roster/config.ts";
import { withAdded } from "../roster/to-read.ts";
import { horizonAt } from "../sync/plan.ts";
import { type Io, note } from "./io.ts";
import { remarksOf, repairedOf } from "./verify-result.ts";
import { compareAccounts } from "./verify-run.ts";

type RepairDeps = {
  readonly config: Config;
  readonly io: Io;
  readonly db: Database;
  readonly runId: string;
};

/** Reads the spans again, and writes what differs. Says on standard error what it wrote. */
export async function repair(
  { db, config, io, runId }: RepairDeps,
  spans: readonly BrokenSpan[],
): Promise<void> {
  const now = await readExchangeTime(db);
  const horizon = horizonAt(now);
  const whole = await withAdded(db, config);
  const notice = (message: string) => note(io, message);
  for (const one of spans) {
    const { account, productType, from, to } = one;
    const name = `${streamName({ account, productType })} ${isoTime(from)} to ${isoTime(to)}`;
    const wanted = whole.accounts.filter(
      (known) => known.name === account && known.productTypes.includes(productType),
    );
    const obstacle =
      (to <= horizon && "is older than the exchange's 90 days") ||
      (from >= now && "is later than the exchange's clock") ||
      (wanted.length === 0 && "is not configured");
    if (obstacle) {
      notice(`${name} ${obstacle}: it cannot be read again`);
      continue;
    }
    const narrow = {
      ...whole,
      accounts: wanted.map((one) => ({ ...one, productTypes: [productType], readsAll: false })),
    };
    const span = { from, to: epochMs(Math.min(to, now)) };
    const again = { db, notice, signal: io.signal, span, repair: true, counts: false, runId };
    const result = await compareAccounts(narrow, { ...again, keptMax: 0 });
    const repaired = repairedOf(result);
    const remarks = remarksOf(result);
    if (repaired === 0 && remarks.length === 0) await noteUnrepaired(db, { ...one, ...span });
    const end =
      repaired === 0 ? "nothing to repair" : `${formatCounted(repaired, "bill")} repaired`;
    notice([`${name}: ${end}`, ...remarks].join("; "));
  }
}
