import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classicProductTypes, type ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { CursorError, type ExchangeError, StoppedError } from "../src/errors.ts";
import {
  openLiveLines,
  openProgress,
  progressLines,
  type StreamProgress,
} from "../src/output/progress.ts";
import type { BillsProgress } from "../src/sync/stream-run.ts";
import { Screen } from "./support/screen.ts";

type WithoutStream<Event> = Event extends unknown ? Omit<Event, "stream"> : never;
type Event = WithoutStream<BillsProgress>;

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
  counts: { new: bills - 3, unchanged: 2, restated: 1, rejected: 0 },
  walkedMs,
  finished: walkedMs === weekMs,
});

/** The display on a screen. The test moves its clock. */
function display(screen = new Screen()) {
  const clock = { now: 1_000_000 };
  const progress = openProgress(screen, () => clock.now);
  const tell = (productType: ProductType, ...events: readonly Event[]) => {
    const stream = { account: "main", productType };
    for (const event of events) progress.update({ stream, ...event } as BillsProgress);
  };
  return { screen, clock, ...progress, tell };
}

const stream = (changes: Partial<StreamProgress> = {}): StreamProgress => ({
  name: "main/USDT-FUTURES",
  state: "at work",
  startedAt: 0,
  plannedMs: weekMs,
  walkedMs: weekMs / 2,
  ...{ pages: 1, bills: 100, requests: 1 },
  ...changes,
});

const screen80 = { columns: 80, rows: 24 };
const rowOf = (changes: Partial<StreamProgress>, now: number, size = screen80): string =>
  progressLines([stream(changes)], now, size)[1] ?? "";

test("a run shows bars, counts and time left on 80 columns, and leaves them there", () => {
  const { tell, clock, stop, notice, screen } = display();
  tell("USDT-FUTURES", planned(4));
  tell("SCOIN-FUTURES", planned(2));
  tell("USDC-FUTURES", planned(0));
  clock.now += 10 * secondMs;
  tell("USDT-FUTURES", page(0, weekMs / 2, 12_345), page(0, weekMs), page(2, weekMs));
  tell("SCOIN-FUTURES", request(), page(0, weekMs / 2));
  stop();
  screen.write("the summary\n");
  stop();
  notice("a late word");
  expect(screen.lines).toEqual([
    "                                                   done      bills       left",
    "main/USDT-FUTURES   ██████████████░░░░░░░░░░░░░░░   50%     12,545       10 s",
    "main/SCOIN-FUTURES  ███████░░░░░░░░░░░░░░░░░░░░░░   25%        100       30 s",
    "main/USDC-FUTURES   █████████████████████████████  100%          0       done",
    "all                 ████████████░░░░░░░░░░░░░░░░░   41%     12,645       14 s",
    "",
    "the summary",
    "a late word",
  ]);
});

describe("the time left", () => {
  const left: readonly [string, Partial<StreamProgress>, number, string][] = [
    ["is not known before anything is walked", { walkedMs: 0 }, minuteMs, "100"],
    ["is as long as the first half took", {}, minuteMs, "1 m"],
    ["counts whole seconds, rounded up", {}, 4_100, "5 s"],
    ["names two units", { walkedMs: weekMs / 100 }, minuteMs, "1 h 39 m"],
    ["ends as done", { walkedMs: weekMs }, minuteMs, "done"],
    ["ends as done where nothing was planned", { plannedMs: 0, walkedMs: 0 }, minuteMs, "done"],
    ["ends as failed", { state: "failed" }, minuteMs, "failed"],
    ["ends as stopped", { state: "stopped" }, minuteMs, "stopped"],
  ];
  test.each(left)("%s", (_title, changes, now, expected) => {
    const narrow = rowOf(changes, now, { columns: 60, rows: 24 });
    const [, text] = / {2}(\S+(?: \S+)*)$/.exec(narrow) ?? [];
    expect(text).toBe(expected);
  });

  test("of all streams ends where the last of them ends, and says when one has failed", () => {
    const sumOf = (...streams: readonly Partial<StreamProgress>[]) =>
      progressLines(streams.map(stream), minuteMs, screen80).at(-1);
    const done = { walkedMs: weekMs };
    expect(sumOf(done, {})).toMatch(/^all .* 75% .*20 s$/);
    expect(sumOf(done, { state: "failed" })).toMatch(/^all .* 75% .*failed$/);
    expect(sumOf(done, { state: "failed" }, { state: "stopped" })).toMatch(/failed$/);
    expect(sumOf(done, { state: "stopped" })).toMatch(/stopped$/);
    expect(sumOf(done, done)).toMatch(/100% .*done$/);
  });
});

const anyStream = fc.record({
  name: fc
    .tuple(fc.stringMatching(/^[\w.-]{1,64}$/), fc.constantFrom(...classicProductTypes))
    .map(([account, productType]) => `${account}/${productType}`),
  state: fc.constantFrom("at work", "failed", "stopped"),
  startedAt: fc.nat(1e9),
  plannedMs: fc.integer({ min: 1, max: 90 * dayMs }),
  walkedMs: fc.constant(0),
  pages: fc.nat(1e6),
  bills: fc.nat(1e8),
  requests: fc.nat(1e6),
}) satisfies fc.Arbitrary<StreamProgress>;

test("no line is wider than the terminal and no frame higher, whatever there is to show", () => {
  fc.assert(
    fc.property(
      fc.array(anyStream, { minLength: 1, maxLength: 80 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.record({
        columns: fc.integer({ min: 1, max: 250 }),
        rows: fc.integer({ min: 5, max: 60 }),
      }),
      (streams, share, size) => {
        const walked = streams.map((one) => ({
          ...one,
          walkedMs: Math.floor(one.plannedMs * share),
        }));
        const lines = progressLines(walked, 2e9, size);
        expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(size.columns);
        expect(lines.length).toBeLessThan(size.rows);
      },
    ),
    { numRuns: 300 },
  );
});

describe("what is said", () => {
  test("stands above the bars, from before the first bar to after the last frame", () => {
    const { tell, notice, stop, screen } = display();
    notice("starting Postgres");
    tell("USDT-FUTURES", planned(1));
    notice("waiting for the account");
    tell("USDT-FUTURES", page(0, weekMs), failed(new CursorError("the cursor stands still")));
    stop();
    expect(screen.lines).toEqual([
      "starting Postgres",
      "waiting for the account",
      "main/USDT-FUTURES: the cursor stands still",
      expect.stringContaining("done"),
      expect.stringMatching(/^main\/USDT-FUTURES .*failed$/),
      "",
    ]);
  });

  test("does not call a failure what the user stopped", () => {
    const { tell, stop, screen } = display();
    tell("USDT-FUTURES", planned(1), failed(new StoppedError("stopped on request")));
    stop();
    expect(screen.lines.join()).not.toContain("stopped on request");
    expect(screen.lines[1]).toMatch(/stopped$/);
  });
});

describe("frames that are drawn over one another", () => {
  const frame = (share: number, size = screen80) =>
    progressLines(
      classicProductTypes.map((type) => stream({ name: `main/${type}`, walkedMs: weekMs * share })),
      minuteMs,
      size,
    );
  const shares = [0.1, 0.2, 0.5, 0.7, 1];

  test("leave the last one, below all that was said between them, long or short", () => {
    const screen = new Screen();
    const live = openLiveLines(screen);
    const said = shares.flatMap((share, index) => {
      const message = index % 2 === 0 ? `long ${"word ".repeat(30)}`.trimEnd() : `short ${index}`;
      live.show(frame(share));
      live.say(message);
      return message.match(/.{1,80}/g)?.map((line) => line.trimEnd()) ?? [];
    });
    expect(screen.lines).toEqual([...said, ...frame(1)]);
  });
});
