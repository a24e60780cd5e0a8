import type { BrokenSpan } from "../../audit/breaks.ts";
import { systemClock } from "../../clock.ts";
import { epochMs, isoTime } from "../../contract/time.ts";
import type { Database } from "../../db/connect.ts";
import { streamName } from "../../output/stream-names.ts";
import type { Config } from "../../roster/config.ts";
import { withAdded } from "../../roster/to-read.ts";
import { horizonAt } from "../../sync/plan.ts";
import { type Io, tell } from "../io.ts";
import { verifyCommand } from "../verify/verify.ts";

/** Reads the spans again, as `verify --repair` does. What it wrote is reported on standard error. */
export async function repair(
  { db, config, io }: { readonly db: Database; readonly config: Config; readonly io: Io },
  spans: readonly BrokenSpan[],
): Promise<void> {
  const now = systemClock.now();
  const horizon = horizonAt(now);
  const whole = await withAdded(db, config);
  for (const { account, productType, from, to } of spans) {
    const name = `${streamName({ account, productType })} ${isoTime(from)} to ${isoTime(to)}`;
    const wanted = whole.accounts.filter(
      (known) => known.name === account && known.productTypes.includes(productType),
    );
    const obstacle =
      (to <= horizon && "is older than the exchange's 90 days") ||
      (from >= now && "is later than this machine's clock") ||
      (wanted.length === 0 && "is not configured");
    if (obstacle) {
      tell(io, `${name} ${obstacle}: it cannot be read again`);
      continue;
    }
    const narrow = {
      ...whole,
      accounts: wanted.map((one) => ({ ...one, productTypes: [productType], readsAll: false })),
    };
    // The exchange's clock dated the bills and may be ahead of this machine's.
    const span = { from: isoTime(from), to: isoTime(epochMs(Math.min(to, now))) };
    // Its output is not this command's result: failing to write it is no failure.
    const beside = { ...io, out: io.err, lost: () => undefined };
    await verifyCommand(narrow, beside, { ...span, repair: true, json: false, counts: false });
  }
}
