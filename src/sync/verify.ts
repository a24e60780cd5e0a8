import PQueue from "p-queue";
import { billIdOf } from "../contract/bill.ts";
import type { Fault } from "../contract/json.ts";
import type { ProductType } from "../contract/product-types.ts";
import { type EpochMs, isoTime, secondMs } from "../contract/time.ts";
import { type ExchangeError, ReportableError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import { askBills, pageQuery } from "./ask-bills.ts";
import { greet } from "./bills.ts";
import { type Interval, intersect, interval, split } from "./intervals.ts";
import { horizonAt, windowMaxMs } from "./plan.ts";
import type { PageCommit, PageCounts, RejectedRow, Stream } from "./store.ts";
import { reachOf } from "./stream-run.ts";
import type { FieldChange, VerifyStore } from "./verify-store.ts";
import { walkWindow } from "./walk.ts";
import { WindowReading } from "./window-reading.ts";

export type VerifyDeps = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly assertHeld: () => void;
  readonly store: VerifyStore;
  /** Whether what differs is written. */
  readonly heal: boolean;
  readonly signal: AbortSignal;
  readonly onFinding: (finding: Finding) => void;
  /** Told of every request that failed. */
  readonly onFailure: (stream: Stream, failure: ExchangeError) => void;
};

/** A place where the stored is not what was served. */
export type Finding = { readonly stream: Stream } & (
  | {
      readonly kind: "missing";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly isHealed: boolean;
    }
  | {
      readonly kind: "changed";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly fields: readonly FieldChange[];
      readonly isHealed: boolean;
      /** Stored while the span was being read: it may be the newer of the two. */
      readonly isLate: boolean;
    }
  | {
      readonly kind: "extra";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly reason: "expired" | "late" | "unknown";
    }
  | {
      readonly kind: "rejected";
      readonly billId: string | undefined;
      readonly fault: Fault;
      /** By whoever set its `resolved_at`. */
      readonly isAccepted: boolean;
    }
);

/** What came of one stream. */
export type StreamVerification = {
  readonly stream: Stream;
  /** What could be read of the span: not what is behind the horizon, nor the future. */
  readonly span: readonly Interval[];
  /** How many bills were compared. */
  readonly compared: number;
  readonly requests: number;
  /** Why not all of it was read. */
  readonly error: unknown;
};

// A machine's clock may be so far ahead, and a span that ends now have been read to its end.
const aheadMaxMs = 30 * secondMs;

// Enough to keep a guest's slots busy while pages are compared; a walk's ids are in memory.
const walksAtOnce = 4;

/**
 * Reads a span of an account's streams again and holds it against what is stored, page by page.
 * Memory holds the ids of the windows under way, and what is found.
 *
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
export async function verifyBills(
  deps: VerifyDeps,
  account: string,
  productTypes: readonly ProductType[],
  span: Interval,
): Promise<readonly StreamVerification[]> {
  const streams = productTypes.map(
    (productType) => new StreamVerify(deps, { account, productType }),
  );
  await greet(deps.signal, streams);
  const queue = new PQueue({ concurrency: walksAtOnce });
  const everything = new AbortController();
  for (const stream of streams.filter(({ hasFailed }) => !hasFailed)) {
    const { forgotten, windows } = stream.plan(span);
    for (const part of forgotten) void queue.add(() => stream.listForgotten(part));
    for (const window of windows) {
      void queue.add(async () => {
        const error = await stream.walk(window, everything.signal);
        if (error !== undefined && reachOf(error) === "account") everything.abort(error);
      });
    }
  }
  await queue.onIdle();
  return streams.map((stream) => stream.report());
}

class StreamVerify {
  readonly stream: Stream;
  readonly #deps: VerifyDeps;
  readonly #stopped = new AbortController();
  readonly #rejected = new Set<string>();
  /** Stored in a window that was read without them. */
  readonly #unserved = new Map<string, EpochMs>();
  /** Served in another window than they are stored in. */
  readonly #moved = new Set<string>();
  #span: readonly Interval[] = [];
  #compared = 0;
  #requests = 0;
  #error: unknown;

  constructor(deps: VerifyDeps, stream: Stream) {
    this.#deps = deps;
    this.stream = stream;
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  fail(error: unknown): void {
    this.#error ??= error;
    if (reachOf(error) !== "window") this.#stopped.abort(error);
  }

  ask(query: Parameters<typeof askBills>[2], signal: AbortSignal) {
    const { client, assertHeld, onFailure } = this.#deps;
    const onAttempt = (failure: ExchangeError | undefined) => {
      this.#requests += 1;
      if (failure !== undefined) onFailure(this.stream, failure);
    };
    return askBills({ client, assertHeld, onAttempt }, this.stream.productType, query, signal);
  }

  /** What the exchange has forgotten of the span by now, and the windows of what can be read. */
  plan(span: Interval): { forgotten: readonly Interval[]; windows: readonly Interval[] } {
    const now = this.#deps.exchangeNow();
    const horizon = horizonAt(now);
    this.#span = intersect([span], interval(horizon, now));
    if (this.#span.length === 0) {
      this.fail(new ReportableError("nothing of the span can be read by the exchange's clock"));
    } else if (span.to > now + aheadMaxMs) {
      this.#error ??= new ReportableError(
        `the exchange's clock says ${isoTime(now)}: what is later could not be read; ` +
          "set this machine's clock, or give an earlier end",
      );
    }
    const forgotten = interval(span.from, Math.min(span.to, horizon));
    return { forgotten, windows: this.#span.flatMap((part) => split(part, windowMaxMs)) };
  }

  /** Names what is stored of time that the exchange serves no more. Never throws. */
  async listForgotten(part: Interval): Promise<void> {
    const { store, onFinding, signal } = this.#deps;
    const { stream } = this;
    try {
      for await (const batch of store.stored(stream, part, await store.now())) {
        signal.throwIfAborted();
        for (const { billId, cTime } of batch) {
          onFinding({ stream, kind: "extra", billId, cTime, reason: "expired" });
        }
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** Reads one window. Never throws: what stopped it comes back, and into the report. */
  async walk(window: Interval, everything: AbortSignal): Promise<unknown> {
    const { exchangeNow, signal: stop, store } = this.#deps;
    const signal = AbortSignal.any([stop, everything, this.#stopped.signal]);
    try {
      signal.throwIfAborted();
      const reading = new WindowReading(window, await store.now());
      await walkWindow(
        {
          fetchPage: (request) =>
            this.ask(() => pageQuery(this.stream.productType, request()), signal),
          commitPage: (page) => this.#compare(reading, page),
          exchangeNow,
          plannedAt: exchangeNow(),
          settleLagMs: 0,
          onPage: () => undefined,
          signal,
        },
        this.stream,
        { window },
      );
      await this.#findExtra(reading);
      return undefined;
    } catch (error) {
      this.fail(error);
      return error;
    }
  }

  report(): StreamVerification {
    const { stream } = this;
    for (const [billId, cTime] of this.#unserved) {
      if (this.#moved.has(billId)) continue;
      this.#deps.onFinding({ stream, kind: "extra", billId, cTime, reason: "unknown" });
    }
    const [compared, requests] = [this.#compared, this.#requests];
    return { stream, span: this.#span, compared, requests, error: this.#error };
  }

  async #compare(reading: WindowReading, page: PageCommit): Promise<PageCounts> {
    const { store, heal, onFinding } = this.#deps;
    const { stream } = this;
    const { bills, rejected: broken } = reading.take(page);
    const rejected = broken.filter((row) => this.#isNew(row));
    const differing = await store.compare(stream, bills, reading.since);
    const sure = differing.filter(({ stored }) => stored?.isLate !== true);
    const isWorth = heal && sure.length + rejected.length > 0;
    const healed = isWorth
      ? await store.heal({ stream, differing: sure, rejected })
      : new Set<string>();
    for (const { bill, stored } of differing) {
      const { billId, cTime } = bill;
      const found = { stream, billId, cTime, isHealed: healed.has(billId) };
      if (stored === undefined) onFinding({ ...found, kind: "missing" });
      else onFinding({ ...found, kind: "changed", fields: stored.fields, isLate: stored.isLate });
      if (stored?.fields.some(({ field }) => field === "c_time")) this.#moved.add(billId);
    }
    const accepted = await store.accepted(stream, rejected);
    for (const [index, { received, fault }] of rejected.entries()) {
      const found = { billId: billIdOf(received), fault, isAccepted: accepted[index] ?? false };
      onFinding({ stream, kind: "rejected", ...found });
    }
    this.#compared += bills.length;
    return nothingCounted;
  }

  /** The edges of windows are read twice. */
  #isNew({ received }: RejectedRow): boolean {
    const text = JSON.stringify(received);
    if (this.#rejected.has(text)) return false;
    this.#rejected.add(text);
    return true;
  }

  async #findExtra(reading: WindowReading): Promise<void> {
    const { store, onFinding, exchangeNow } = this.#deps;
    const { stream } = this;
    // The last page was read with the horizon of its own moment.
    const servedFrom = Math.max(reading.readFrom, horizonAt(exchangeNow()));
    for await (const batch of store.stored(stream, reading.window, reading.since)) {
      for (const { billId, cTime, isLate } of batch) {
        if (reading.served.has(billId)) continue;
        const reason = cTime < servedFrom ? "expired" : isLate ? "late" : "unknown";
        if (reason === "unknown") this.#unserved.set(billId, cTime);
        else onFinding({ stream, kind: "extra", billId, cTime, reason });
      }
    }
  }
}

// The walker hands them on to nobody here.
const nothingCounted: PageCounts = { new: 0, unchanged: 0, restated: 0, rejected: 0 };
