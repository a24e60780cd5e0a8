import type { FailedJob, QueueStatus } from "../../fleet/queue-status.ts";
import { formatCount, formatCounted, formatTime } from "../../output/format.ts";
import { printableLine } from "../../printable.ts";
import { jsonTime } from "../json-times.ts";

/** How many failed jobs a person is shown. JSON has all. */
const shownMax = 10;

/** The workers' queue; no lines if there never was one. */
export function queueLines(queue: QueueStatus | undefined): readonly string[] {
  if (queue === undefined) return [];
  const { waiting, atWork, failed } = queue;
  const more = failed.length - shownMax;
  return [
    `queue: ${formatCounted(waiting, "job")} waiting, ${formatCount(atWork)} at work, ` +
      `${formatCount(failed.length)} failed`,
    ...failed.slice(0, shownMax).map(failedLine),
    ...(more > 0 ? [`queue: ${formatCount(more)} more failed: see --json`] : []),
  ];
}

const failedLine = ({ name, failedAt, why }: FailedJob): string =>
  `${printableLine(name)}: given up at ${formatTime(failedAt)}: ${printableLine(why)}`;

export const queueJson = (queue: QueueStatus | undefined) => ({
  queue:
    queue === undefined
      ? null
      : {
          ...queue,
          failed: queue.failed.map((job) => ({ ...job, failedAt: jsonTime(job.failedAt) })),
        },
});
