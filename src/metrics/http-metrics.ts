import { Counter, Histogram, Registry } from "prom-client";
import { secondMs } from "../contract/time.ts";
import { metricPrefix } from "./registry.ts";

/** What a server counts about its own answers since it started. */
export type HttpMetrics = {
  readonly registry: Registry;
  answered(answer: {
    readonly method: string;
    /** The server's name of the route, not the path that a client wrote, which may be anything. */
    readonly route: string;
    readonly status: number;
    readonly ms: number;
  }): void;
  /** @param code of the exchange's, as 40009. */
  authFailed(code: string): void;
};

// A page of 100 bills takes some milliseconds; a page of HTML or a download takes up to seconds.
const bucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createHttpMetrics(): HttpMetrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: `${metricPrefix}http_requests_total`,
    help: "Requests that were answered.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: `${metricPrefix}http_request_duration_seconds`,
    help: "How long an answer took, to its last byte.",
    labelNames: ["route"],
    buckets: bucketsS,
    registers,
  });
  const failures = new Counter({
    name: `${metricPrefix}auth_failures_total`,
    help: "Requests whose key or signature was refused, by the code of the refusal.",
    labelNames: ["code"],
    registers,
  });
  return {
    registry,
    answered({ method, route, status, ms }) {
      requests.inc({ method, route, status: String(status) });
      durations.observe({ route }, ms / secondMs);
    },
    authFailed: (code) => failures.inc({ code }),
  };
}
