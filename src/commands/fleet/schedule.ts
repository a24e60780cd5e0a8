import { type ExitCode, type Io, printSummary, tell } from "../../app/io.ts";
import { systemClock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import { minuteMs } from "../../contract/time.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { messageOf, ReportableError, StoppedError, UsageError } from "../../errors.ts";
import { enqueueAccounts, enqueuedText, openFilledQueue } from "./enqueue.ts";

/** How long to wait after a round that could not be queued. */
const againMs = minuteMs;

/**
 * `schedule`: queues every account once in each period, until Ctrl-C. Reads the configuration anew
 * for each round. An account that still waits or is at work is not queued again.
 */
export async function scheduleCommand(
  readConfig: () => Config,
  io: Io,
  { everyMs }: { readonly everyMs: number },
): Promise<ExitCode> {
  const notify = (message: string) => tell(io, message);
  await using database = await openCommandDatabase(readConfig().database, notify);
  await using queue = await openFilledQueue(database, notify);
  let dueAt: number = systemClock.now();
  try {
    for (;;) {
      let waitMs = againMs;
      try {
        const enqueued = await enqueueAccounts(database, queue, readConfig(), { reconcile: false });
        printSummary(io, enqueuedText(enqueued));
        // Rounds keep the first round's schedule, however long each takes. Rounds missed during
        // sleep are skipped.
        while (dueAt <= systemClock.now()) dueAt += everyMs;
        waitMs = dueAt - systemClock.now();
      } catch (error) {
        if (!(error instanceof ReportableError) || error instanceof UsageError) throw error;
        notify(`nothing was queued; trying again in a minute: ${messageOf(error)}`);
      }
      await systemClock.sleep(waitMs, io.signal);
    }
  } catch (error) {
    if (error instanceof StoppedError) return 0;
    throw error;
  }
}
