import { type Clock, repeatEvery } from "../../clock.ts";
import { minuteMs } from "../../contract/time.ts";
import { type JobEnd, type Task, taskName } from "../../fleet/task.ts";
import type { Log } from "../../log.ts";
import { logReporter, type Reporter } from "../sync/reporter.ts";

/** A worker's log: failures, and each minute the number of jobs since the start. */
export type WorkerLog = Disposable & {
  /** A reporter for one run. Ordinary events are logged at the level debug. */
  readonly reporter: () => Reporter;
  readonly count: (task: Task, end: JobEnd) => void;
};

export function openWorkerLog(log: Log, clock: Clock): WorkerLog {
  const quiet: Log = {
    debug: log.debug.bind(log),
    info: log.debug.bind(log),
    warn: log.warn.bind(log),
    error: log.error.bind(log),
  };
  const over = new AbortController();
  const counts = { done: 0, failed: 0, hopeless: 0, "given back": 0 };
  const tellCounts = (): void => {
    if (Object.values(counts).some((count) => count > 0)) log.info(counts, "jobs since the start");
  };
  void repeatEvery(clock, minuteMs, over.signal, tellCounts);
  return {
    reporter: () => logReporter(quiet, clock),
    count(task, end) {
      counts[end.is]++;
      if (end.is === "hopeless")
        log.error(`${taskName(task)}: given up until the next round: ${end.why}`);
      if (end.is === "failed") log.warn(`${taskName(task)}: to be tried again: ${end.why}`);
    },
    [Symbol.dispose]() {
      over.abort();
      tellCounts();
    },
  };
}
