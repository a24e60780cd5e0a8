import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleepFor } from "node:timers/promises";
import { billsOperations } from "../contract/bills-api.ts";
import { secondMs } from "../contract/time.ts";
import type { Answer, ApiAnswer } from "../exchange-server/api.ts";
import type { Source } from "../exchange-server/source.ts";
import type { FaultKind, Meeting, ScheduledFault } from "./fault-kinds.ts";
import { refused, spoiledAnswer } from "./spoiled-answers.ts";
import { spoilPages } from "./spoiled-pages.ts";

export type FaultOptions = {
  readonly schedule: readonly ScheduledFault[];
  /** How a request is delayed. Default a real timer. */
  readonly sleep?: (delayMs: number) => Promise<unknown>;
  /** Called each time that a fault changes an answer. */
  readonly onFault?: (fault: ScheduledFault, request: number) => void;
};

/** The hooks by which a schedule changes an exchange. */
export type FaultyExchange = {
  /** The time by the exchange's clock for the request that it is serving. */
  readonly clock: () => number;
  readonly wrapSource: (source: Source) => Source;
  readonly wrapAnswer: (answer: Answer) => Answer;
};

/**
 * An exchange with scheduled faults. Every request still arrives and counts against the limits. An
 * answer that is already a refusal stays as it is.
 *
 * @param now the exchange's right time, in milliseconds since the Unix epoch.
 */
export function faultyExchange(now: () => number, options: FaultOptions): FaultyExchange {
  const { schedule, sleep = sleepFor, onFault = () => undefined } = options;
  const meetings = new AsyncLocalStorage<Meeting>();
  let requests = 0;
  let closed: { until: number; fault: ScheduledFault & { kind: "maintenance" } } | undefined;

  function meet(path: string): Meeting {
    if (!billsOperations.some((operation) => operation.path === path))
      return { request: requests, faults: [] };
    requests += 1;
    const faults = schedule.filter(
      ({ atRequest, times = 1 }) => requests >= atRequest && requests < atRequest + times,
    );
    for (const fault of faultsOf(faults, "maintenance")) {
      if (requests > fault.atRequest) continue;
      closed = { until: Math.max(closed?.until ?? 0, now() + fault.forMs), fault };
    }
    return { request: requests, faults };
  }

  function spoil(given: ApiAnswer, { request, faults }: Meeting): ApiAnswer {
    if (closed !== undefined && now() < closed.until) {
      onFault(closed.fault, request);
      return refused(closed.fault.says, given);
    }
    return faults.reduce((answer, fault) => {
      const spoiled = answer.status === 200 ? spoiledAnswer(answer, fault) : answer;
      if (spoiled !== answer) onFault(fault, request);
      return spoiled;
    }, given);
  }

  return {
    clock: () => {
      const jumps = faultsOf(meetings.getStore()?.faults ?? [], "clock-jump");
      return jumps.reduce((time, { offMs }) => time + offMs, now());
    },
    wrapSource: (source) => spoilPages(source, () => meetings.getStore(), onFault),
    wrapAnswer: (answer) => async (request) => {
      const meeting = meet(request.path);
      for (const fault of meeting.faults) {
        if (fault.kind === "clock-jump") onFault(fault, meeting.request);
        if (fault.kind !== "late-request") continue;
        onFault(fault, meeting.request);
        await sleep(fault.holdMs);
      }
      return spoil(await meetings.run(meeting, () => answer(request)), meeting);
    },
  };
}

const faultsOf = <Kind extends FaultKind>(faults: readonly ScheduledFault[], kind: Kind) =>
  faults.filter((fault): fault is ScheduledFault & { readonly kind: Kind } => fault.kind === kind);

/** A fault in one line, for a person. */
export function describeFault({ kind, atRequest: _, times: __, ...parameters }: ScheduledFault) {
  const said = Object.entries(parameters).map(([name, value]) => {
    const isTime = name.endsWith("Ms") && typeof value === "number" && Math.abs(value) >= secondMs;
    return isTime ? `${name.slice(0, -2)} ${value / secondMs} s` : `${name} ${value}`;
  });
  return [kind, ...said].join(", ");
}
