// A long run's log has a line a minute, and its counts at the end.

import fc from "fast-check";
import { expect, test } from "vitest";
import { logReporter, progressLine, terminalReporter } from "../src/commands/sync-reporter.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { CursorError, type ExchangeError, StoppedError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";
import type { BillsProgress } from "../src/sync/ledger-run.ts";
import { Screen } from "./support/screen.ts";
import { virtualClock } from "./support/virtual-clock.ts";

type WithoutLedger<Event> = Event extends unknown ? Omit<Event, "ledger"> : never;
type Event = WithoutLedger<BillsProgress>;

const weekMs = 7 * dayMs;
const planned = (weeks: number): Event => ({
  event: "planned",
  windows: weeks,
  plannedMs: weeks * weekMs,
});
const request = (failure?: ExchangeError): Event => ({ event: "request", failure });
const failed = (error: unknown): Event => ({ event: "failed", error });
const page = (week: number, walkedMs: number, bills = 100): Event => ({
  event: "page",
  window: { from: epochMs(week * weekMs), to: epochMs((week + 1) * weekMs) },
  counts: { new: bills - 3, unchanged: 2, restated: 1, rejected: 4 },
  walkedMs,
  finished: walkedMs === weekMs,
});

/** A function that gives events of product types to a reporter. */
const teller =
  ({ progress }: { readonly progress: (event: BillsProgress) => void }) =>
  (productType: ProductType, ...events: readonly Event[]) => {
    const ledger = { account: "main", productType };
    for (const event of events) progress({ ledger, ...event } as BillsProgress);
  };

/** The display on a screen. The test moves its clock. */
function display(screen = new Screen()) {
  const clock = { now: 1_000_000 };
  const reporter = terminalReporter(screen, () => clock.now);
  return { screen, clock, tell: teller(reporter), ...reporter, stop: reporter[Symbol.dispose] };
}

test("a run shows one line with its share, bills and time left, below all that is said, and leaves it there", () => {
  const { tell, clock, stop, notice, screen } = display();
  notice("starting Postgres");
  tell("USDT-FUTURES", planned(4));
  tell("SCOIN-FUTURES", planned(2));
  tell("USDC-FUTURES", planned(0));
  notice(`long ${"word ".repeat(30)}`.trimEnd());
  clock.now += 10 * secondMs;
  tell("USDT-FUTURES", page(0, weekMs / 2, 12_345), page(0, weekMs), page(2, weekMs));
  notice("short\nin two lines");
  tell("SCOIN-FUTURES", request(), page(0, weekMs / 2));
  stop();
  screen.write("the summary\n");
  stop();
  notice("a late word");
  expect(screen.lines).toEqual([
    "starting Postgres",
    ...(`long ${"word ".repeat(30)}`.trimEnd().match(/.{1,80}/g) ?? []).map((line) =>
      line.trimEnd(),
    ),
    "short",
    "in two lines",
    "████████████░░░░░░░░░░░░░░░░░░ 41%  12,645 bills, 15 s left",
    "",
    "the summary",
    "a late word",
  ]);
});

test.each([
  ["is not known before anything is walked", 0, minuteMs, /0% {2}7 bills$/],
  ["is as long as the first half took", 0.5, minuteMs, /50% {2}7 bills, 1 m left$/],
  ["counts whole seconds, rounded up", 0.5, 4_100, /, 5 s left$/],
  ["names two units", 0.01, minuteMs, /, 1 h 39 m left$/],
  ["ends where nothing is left", 1, minuteMs, /100% {2}7 bills$/],
])("the time left %s", (_title, done, elapsedMs, expected) => {
  expect(progressLine({ done, bills: 7, pages: 1, requests: 1 }, elapsedMs)).toMatch(expected);
});

test("after the planned time, the line says that tax records are read, and for how long", () => {
  const lineAt = (recoverMs: number) =>
    progressLine({ done: 1, bills: 7, pages: 1, requests: 1, recoverMs }, minuteMs);
  expect(lineAt(73 * secondMs)).toMatch(/7 bills, tax records: about 1 m 13 s left$/);
  expect(lineAt(0)).toMatch(/7 bills, tax records$/);
  const { tell, clock, stop, notice, screen } = display();
  tell("USDT-FUTURES", planned(1), page(0, weekMs));
  notice("older bills come from tax records", 9 * secondMs);
  clock.now += 5 * secondMs;
  stop();
  expect(screen.lines.at(-2)).toMatch(/100% .* tax records: about 4 s left$/);
});

test("no line is wider than the terminal", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 250 }), fc.nat(1e8), (columns, bills) => {
      const { tell, stop, screen } = display(new Screen(columns));
      tell("USDT-FUTURES", planned(2), page(0, weekMs, bills));
      stop();
      expect(screen.lines).toEqual([expect.any(String), ""]);
    }),
    { numRuns: 100 },
  );
});

test("a failure is said once however often it is retried, and what the user stopped is none", () => {
  const { tell, stop, screen } = display();
  const failure = failed(new CursorError("the cursor stands still"));
  tell("USDT-FUTURES", planned(1), failure, failure, failed(new StoppedError("stopped")));
  stop();
  expect(screen.lines).toEqual([
    "main/USDT-FUTURES: the cursor stands still",
    expect.stringContaining(" 0%  0 bills"),
    "",
  ]);
});

test("a run's log tells once a minute how far it is over all product types, and no more once it ends", async () => {
  const time = virtualClock(0);
  const beats: [number, object][] = [];
  const ignore = () => undefined;
  const info = (beat: object, message: string) =>
    message === "at work" && beats.push([time.now(), { ...beat }]);
  const log = { debug: ignore, warn: ignore, error: ignore, info } as unknown as Log;
  const reporter = logReporter(log, time.clock);
  const tell = teller(reporter);
  const sleep = (ms: number) => time.clock.sleep(ms);
  await time.run(
    (async () => {
      await sleep(61 * secondMs);
      tell("COIN-FUTURES", planned(1));
      tell("USDT-FUTURES", planned(1), request(), page(0, weekMs / 4), request());
      tell("USDT-FUTURES", page(0, weekMs / 2), request());
      await sleep(minuteMs);
      tell("USDT-FUTURES", page(0, weekMs / 2));
      reporter.notice("older bills come from tax records", 80 * secondMs);
      await sleep(2 * minuteMs);
      reporter[Symbol.dispose]();
      await sleep(10 * minuteMs);
    })(),
  );
  expect(beats).toEqual([
    [minuteMs, { pages: 0, bills: 0, requests: 0, done: 0 }],
    [2 * minuteMs, { pages: 2, bills: 200, requests: 3, done: 0.25 }],
    [3 * minuteMs, { pages: 3, bills: 300, requests: 3, done: 0.25, recoverMs: 21_000 }],
    [4 * minuteMs, { pages: 3, bills: 300, requests: 3, done: 0.25, recoverMs: 0 }],
  ]);
});
