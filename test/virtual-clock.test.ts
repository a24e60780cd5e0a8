import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "vitest";
import { virtualClock } from "./support/virtual-clock.ts";

test("sleepers wake in the order of their times, and of their calls where those are equal", async () => {
  const { clock, now, run } = virtualClock(1_000);
  const woken: [string, number][] = [];
  const sleepThen = (name: string, ms: number) =>
    clock.sleep(ms).then(() => woken.push([name, now()]));
  await run(
    Promise.all([
      sleepThen("late", 90 * 86_400_000),
      sleepThen("first", 5),
      sleepThen("second", 5),
      sleepThen("at once", 0),
    ]),
  );
  expect(woken).toEqual([
    ["at once", 1_000],
    ["first", 1_005],
    ["second", 1_005],
    ["late", 1_000 + 90 * 86_400_000],
  ]);
});

test("an abort ends a sleep with the signal's reason, and no time passes", async () => {
  const { clock, now, run } = virtualClock(0);
  const controller = new AbortController();
  const sleep = clock.sleep(1_000, controller.signal);
  controller.abort(new Error("enough"));
  await expect(run(sleep)).rejects.toThrow("enough");
  await expect(run(clock.sleep(1, controller.signal))).rejects.toThrow("enough");
  expect(now()).toBe(0);
  await run(clock.sleep(2_000, new AbortController().signal));
  expect(now()).toBe(2_000);
});

test("time stands still while real I/O is held, however long that takes", async () => {
  const { clock, now, hold, run } = virtualClock(0);
  const io = hold(() => realDelay(50)).then(now);
  await run(Promise.all([clock.sleep(10), io]));
  expect(await io).toBe(0);
  expect(now()).toBe(10);
});

test("work that fails fails its run, and the clock runs on", async () => {
  const { clock, now, run } = virtualClock(0);
  const failing = clock.sleep(5).then(() => Promise.reject(new Error("broken")));
  await expect(run(failing)).rejects.toThrow("broken");
  await run(clock.sleep(5));
  expect(now()).toBe(10);
});
