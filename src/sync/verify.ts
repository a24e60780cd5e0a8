import PQueue from "p-queue";
import { type BillsApi, billsApiOf } from "../contract/bills-api.ts";
import type { RowFault } from "../contract/json.ts";
import type { ProductType } from "../contract/product-types.ts";
import { type EpochMs, isoTime, secondMs } from "../contract/time.ts";
import { type ExchangeError, ReportableError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import { failureScope } from "./failure-scope.ts";
import { type Interval, intersect, interval, split } from "./intervals.ts";
import { horizonAt } from "./plan.ts";
import type {
  FieldChange,
  PageCommit,
  PageCounts,
  RejectedRow,
  Stream,
  VerifyStore,
} from "./store.ts";
import { probeAccount, StreamReader } from "./stream-reader.ts";
import { VerifiedWindow } from "./verified-window.ts";
import { PageHabits } from "./walk/answers.ts";
import { walkWindow } from "./walk/walk.ts";

export type VerifyDeps = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly assertHeld: () => void;
  readonly store: VerifyStore;
  /** Whether to repair differences. */
  readonly repair: boolean;
  readonly signal: AbortSignal;
  readonly onFinding: (finding: Finding) => void;
  /** Called with every failed request. */
  readonly onFailure: (stream: Stream, failure: ExchangeError) => void;
};

/** A difference between what is stored and what was served. */
export type Finding = { readonly stream: Stream } & (
  | {
      readonly kind: "missing";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly isRepaired: boolean;
    }
  | {
      readonly kind: "changed";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly fields: readonly FieldChange[];
      readonly isRepaired: boolean;
    }
  | {
      readonly kind: "extra";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly reason: "expired" | "unknown";
    }
  | {
      readonly kind: "rejected";
      readonly billId: string | undefined;
      readonly fault: RowFault;
      /** Whether the row's entry in `rejected_bills` is resolved. */
      readonly isAccepted: boolean;
    }
);

/** The result of verifying one stream. */
export type StreamVerification = {
  readonly stream: Stream;
  /** The part of the span that could be read: neither older than the horizon nor in the future. */
  readonly span: readonly Interval[];
  /** How many bills were compared. */
  readonly compared: number;
  readonly requests: number;
  /** The reason why not all of it was read; undefined where all was. */
  readonly error: unknown;
};

// A span whose end was taken from this machine's clock may end this far in the exchange's future without an error.
const aheadMaxMs = 30 * secondMs;

// Enough to keep the rate limit's ten slots busy while pages are compared. Not more, since each walk keeps
// its ids in memory.
const walksAtOnce = 16;

/**
 * Reads a span of an account's streams again, and compares each page with what is stored. The ids of the
 * windows under way and the findings are kept in memory. A stream that was asked for already, and so refused
 * or served, is not asked for once more before its windows are.
 *
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
export async function verifyBills(
  streams: readonly StreamVerify[],
  span: Interval,
): Promise<readonly StreamVerification[]> {
  const readers = streams.map(({ reader }) => reader);
  if (!readers.some(({ hasAnswered }) => hasAnswered)) {
    await probeAccount(readers.filter(({ refusal }) => refusal === undefined));
  }
  for (const reader of readers) reader.acceptRefusal();
  const queue = new PQueue({ concurrency: walksAtOnce });
  const accountStopped = new AbortController();
  for (const stream of streams.filter(({ reader }) => !reader.hasFailed)) {
    const { forgotten, windows } = stream.plan(span);
    for (const part of forgotten) void queue.add(() => stream.listForgotten(part));
    for (const window of windows) {
      void queue.add(async () => {
        const error = await stream.walk(window, accountStopped.signal);
        if (error !== undefined && failureScope(error) === "account") accountStopped.abort(error);
      });
    }
  }
  await queue.onIdle();
  return streams.map((stream) => stream.report());
}

/** Opens the verification of an account's streams, one by one. They share what is learned of the exchange's pages. */
export function openStreams(
  deps: VerifyDeps,
  account: string,
): (productType: ProductType) => StreamVerify {
  const pageHabits = new PageHabits();
  return (productType) => new StreamVerify(deps, { account, productType }, pageHabits);
}

/** The verification of one stream. */
export class StreamVerify {
  readonly stream: Stream;
  readonly reader: StreamReader;
  readonly #deps: VerifyDeps;
  readonly #api: BillsApi;
  readonly #rejected = new Set<string>();
  /** Bills that are stored in a window but were not served for it. */
  readonly #unserved = new Map<string, EpochMs>();
  /** Bills that are stored with another time than they were served with or for. */
  readonly #moved = new Set<string>();
  #span: readonly Interval[] = [];
  #compared = 0;

  /** @param pageHabits shared by the account's streams. */
  constructor(deps: VerifyDeps, stream: Stream, pageHabits: PageHabits) {
    const { client, assertHeld, signal, onFailure } = deps;
    const onAttempt = (failure: ExchangeError | undefined) => {
      if (failure !== undefined) onFailure(stream, failure);
    };
    this.#deps = deps;
    this.stream = stream;
    this.#api = billsApiOf(stream.productType);
    const asking = { client, assertHeld, signal, onAttempt, pageHabits };
    this.reader = new StreamReader(asking, stream);
  }

  /** Splits the span into the time that the exchange no longer serves and windows of the time that can be read. */
  plan(span: Interval): { forgotten: readonly Interval[]; windows: readonly Interval[] } {
    const now = this.#deps.exchangeNow();
    const horizon = horizonAt(now);
    this.#span = intersect([span], interval(horizon, now));
    if (this.#span.length === 0) {
      this.reader.fail(
        new ReportableError(
          "nothing of the span can be read: by the exchange's clock it is too old or in the future",
        ),
      );
    } else if (span.to > now + aheadMaxMs) {
      this.reader.note(
        new ReportableError(
          `the exchange's clock says ${isoTime(now)}, so nothing later could be read; ` +
            "set this machine's clock, or give an earlier end",
        ),
      );
    }
    const forgotten = interval(span.from, Math.min(span.to, horizon));
    const { windowMaxMs } = this.#api;
    return { forgotten, windows: this.#span.flatMap((part) => split(part, windowMaxMs)) };
  }

  /** Reports the stored bills of a time that the exchange no longer serves. Never throws. */
  async listForgotten(part: Interval): Promise<void> {
    const { store, onFinding, signal } = this.#deps;
    const { stream } = this;
    try {
      for await (const batch of store.stored(stream, part)) {
        signal.throwIfAborted();
        for (const { billId, cTime } of batch) {
          onFinding({ stream, kind: "extra", billId, cTime, reason: "expired" });
        }
      }
    } catch (error) {
      this.reader.fail(error);
    }
  }

  /** Reads one window. Never throws: the error that stopped it is returned, and is in the report. */
  walk(window: Interval, accountStopped: AbortSignal): Promise<unknown> {
    const { exchangeNow } = this.#deps;
    const { stream, reader } = this;
    return reader.read(accountStopped, async (signal) => {
      signal.throwIfAborted();
      const reading = new VerifiedWindow(this.#api, window);
      await walkWindow(
        {
          fetchPage: (request) => reader.ask(request, signal),
          commitPage: (page) => this.#compare(reading, page),
          exchangeNow,
          plannedAt: exchangeNow(),
          settleLagMs: 0,
          idOrder: reader.idOrder,
          pageHabits: reader.pageHabits,
          onPage: () => undefined,
          signal,
        },
        stream,
        { window },
      );
      await this.#findExtra(reading);
    });
  }

  report(): StreamVerification {
    const { stream } = this;
    for (const [billId, cTime] of this.#unserved) {
      if (this.#moved.has(billId)) continue;
      this.#deps.onFinding({ stream, kind: "extra", billId, cTime, reason: "unknown" });
    }
    const { requests, error } = this.reader;
    return { stream, span: this.#span, compared: this.#compared, requests, error };
  }

  async #compare(reading: VerifiedWindow, page: PageCommit): Promise<PageCounts> {
    const { store, repair, onFinding } = this.#deps;
    const { stream } = this;
    const { bills, rejected: broken } = reading.take(page);
    const rejected = broken.filter((row) => this.#isNew(row));
    for (const { billId, cTime } of bills) if (reading.isStray(cTime)) this.#moved.add(billId);
    const differing = await store.compare(stream, bills);
    const isRepaired = repair && differing.length + rejected.length > 0;
    if (isRepaired) await store.repair({ stream, differing, rejected });
    for (const { bill, changes } of differing) {
      const { billId, cTime } = bill;
      const difference = { stream, billId, cTime, isRepaired };
      if (changes === undefined) onFinding({ ...difference, kind: "missing" });
      else onFinding({ ...difference, kind: "changed", fields: changes });
      if (changes?.some(({ field }) => field === "c_time")) this.#moved.add(billId);
    }
    const accepted = await store.accepted(stream, rejected);
    for (const [index, { received, fault }] of rejected.entries()) {
      const rejection = {
        billId: this.#api.idOf(received),
        fault,
        isAccepted: accepted[index] ?? false,
      };
      onFinding({ stream, kind: "rejected", ...rejection });
    }
    this.#compared += bills.length;
    return nothingCounted;
  }

  /** Whether a rejected row was not reported yet: neighbouring windows both read their common edge. */
  #isNew({ received }: RejectedRow): boolean {
    const text = JSON.stringify(received);
    if (this.#rejected.has(text)) return false;
    this.#rejected.add(text);
    return true;
  }

  async #findExtra(reading: VerifiedWindow): Promise<void> {
    const { store, onFinding, exchangeNow } = this.#deps;
    const { stream } = this;
    // The horizon has moved since the last page was read.
    const servedFrom = Math.max(reading.readFrom, horizonAt(exchangeNow()));
    for await (const batch of store.stored(stream, reading.window)) {
      for (const { billId, cTime } of batch) {
        if (reading.served.has(billId)) continue;
        if (cTime >= servedFrom) this.#unserved.set(billId, cTime);
        else onFinding({ stream, kind: "extra", billId, cTime, reason: "expired" });
      }
    }
  }
}

const nothingCounted: PageCounts = { new: 0, unchanged: 0, restated: 0, rejected: 0 };
