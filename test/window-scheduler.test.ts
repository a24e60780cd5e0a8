import { expect, test } from "vitest";
import { type ScheduledWalk, WindowScheduler } from "../src/sync/window-scheduler.ts";

test("a walk goes first that has just begun, then the one with most left", async () => {
  const scheduler = new WindowScheduler();
  const walks: ScheduledWalk[] = [];
  const ended = Promise.withResolvers<void>();
  for (let walk = 0; walk < 3; walk++) {
    scheduler.add((scheduled) => {
      walks.push(scheduled);
      return ended.promise;
    });
  }
  walks[1]?.afterPage(3);
  walks[2]?.afterPage(8);
  expect(walks.map((scheduled) => scheduled.priority())).toEqual([Number.POSITIVE_INFINITY, 3, 8]);
  ended.resolve();
  await scheduler.done();
});
