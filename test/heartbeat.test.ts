import { expect, test } from "vitest";
import { dayMs, epochMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { type Beat, openHeartbeat } from "../src/output/progress.ts";
import type { BillsProgress } from "../src/sync/stream-run.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const left = { account: "main", productType: "USDT-FUTURES" } as const;
const right = { account: "main", productType: "COIN-FUTURES" } as const;
const window = { from: epochMs(0), to: epochMs(4 * dayMs) };

const page = (walkedMs: number): BillsProgress => ({
  stream: left,
  event: "page",
  window,
  walkedMs,
  finished: false,
  counts: { new: 60, unchanged: 30, restated: 10, rejected: 1 },
});
const request = { stream: left, event: "request", failure: undefined } as const;

test("a run tells once a minute how far it is over all product types, and no more once it ends", async () => {
  const time = virtualClock(0);
  const beats: [number, Beat][] = [];
  const heartbeat = openHeartbeat(time.clock, (beat) => beats.push([time.now(), beat]));
  const sleep = (ms: number) => time.clock.sleep(ms);
  await time.run(
    (async () => {
      await sleep(61 * secondMs);
      for (const stream of [left, right]) {
        heartbeat.update({ stream, event: "planned", windows: 1, plannedMs: 4 * dayMs });
      }
      for (const event of [request, page(dayMs), request, page(2 * dayMs), request]) {
        heartbeat.update(event);
      }
      await sleep(minuteMs);
      heartbeat.update(page(2 * dayMs));
      await sleep(minuteMs);
      heartbeat[Symbol.dispose]();
      await sleep(10 * minuteMs);
    })(),
  );
  expect(beats).toEqual([
    [minuteMs, { pages: 0, bills: 0, requests: 0, done: 0 }],
    [2 * minuteMs, { pages: 2, bills: 200, requests: 3, done: 0.25 }],
    [3 * minuteMs, { pages: 3, bills: 300, requests: 3, done: 0.25 }],
  ]);
});
