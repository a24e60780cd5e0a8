import { AsyncLocalStorage } from "node:async_hooks";
import { billsOperations } from "../../src/core/contract/bills-api.ts";
import type { ApiAnswer } from "../../src/core/server/answer.ts";
import { refused, spoiledAnswer } from "./answers.ts";
import type { FaultKind, Meeting, ScheduledFault } from "./kinds.ts";
import { spoilPages } from "./pages.ts";
import type { SandboxOptions } from "./sandbox.ts";

type FaultOptions = {
  readonly schedule: readonly ScheduledFault[];
  /** The exchange's right time. */
  readonly now: () => number;
  /** How a request is delayed. */
  readonly sleep: (delayMs: number) => Promise<unknown>;
  /** Called each time that a fault changes an answer. */
  readonly onFault: (fault: ScheduledFault, request: number) => void;
};

/**
 * An exchange with scheduled faults. Every request still arrives and counts against the limits. An
 * answer that is already a refusal stays as it is.
 */
export function faultyExchange({
  schedule,
  now,
  sleep,
  onFault,
}: FaultOptions): Required<Pick<SandboxOptions, "clock" | "wrapSource" | "wrapAnswer">> {
  const meetings = new AsyncLocalStorage<Meeting>();
  let requests = 0;
  let others = 0;
  let closed: { until: number; fault: ScheduledFault & { kind: "maintenance" } } | undefined;

  function meet(path: string): Meeting {
    const isAt = (number: number, { atRequest, times = 1 }: ScheduledFault) =>
      number >= atRequest && number < atRequest + times;
    if (!billsOperations.some((operation) => operation.path === path)) {
      others += 1;
      // A fault from before the first request strikes these, too.
      const faults = schedule.filter((fault) =>
        fault.of === undefined ? fault.atRequest === 0 : isAt(others, fault),
      );
      return { request: requests, faults };
    }
    requests += 1;
    const faults = schedule.filter((fault) => fault.of === undefined && isAt(requests, fault));
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
