import type { ApiAnswer } from "../../src/core/server/answer.ts";
import type { ApiRequest } from "../../src/core/server/request.ts";
import { rollingWindow } from "../../src/core/server/rolling-window.ts";
import { secondMs } from "../../src/lib/time.ts";
import type { Answer } from "../../src/wings/sandbox/exchange/api.ts";
import { routes } from "../../src/wings/sandbox/exchange/routes.ts";

type Peak = {
  readonly operation: string;
  /** A user id or a client address, by which the operation's limit counts. */
  readonly scope: string;
  readonly requests: number;
};

export type Statistics = {
  /** Requests by operation, refused ones included. */
  readonly arrivals: Readonly<Record<string, number>>;
  /** Answers other than a success, by code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** The most arrivals in any rolling second, refused ones included. */
  readonly peaks: readonly Peak[];
  /** Public requests that needlessly carried credentials. */
  readonly strayCredentials: number;
};

/** The most arrivals in any rolling span of `perMs`: a span with the most can be moved until it ends with an arrival. */
export function peakOf(perMs: number) {
  const window = rollingWindow(perMs);
  let peak = 0;
  return {
    arrive(at: number): void {
      peak = Math.max(peak, window.arrive(at));
    },
    peak: () => peak,
  };
}

const credentialHeaders = ["access-key", "access-sign", "access-passphrase", "access-timestamp"];

/**
 * Counts what arrives at an exchange, and its refusals.
 * @param arrivedAt when the last request arrived, by the exchange's own limits.
 * @param userOf the user of an API key.
 */
export function counted(
  answer: Answer,
  arrivedAt: () => number,
  userOf: (apiKey: string) => string | undefined,
) {
  const arrivals: Record<string, number> = {};
  const refusals: Record<string, number> = {};
  const windows = new Map<string, Omit<Peak, "requests"> & ReturnType<typeof peakOf>>();
  let strayCredentials = 0;

  function countArrival(request: ApiRequest): void {
    const route = routes.get(request.path);
    if (route === undefined || request.method !== "GET") return;
    const { name } = route.operation;
    count(arrivals, name);
    const isSigned = route.access === "signed";
    if (!isSigned && credentialHeaders.some((header) => request.headers[header] !== undefined))
      strayCredentials++;
    const scope = isSigned ? userOf(request.headers["access-key"] ?? "") : request.clientAddress;
    if (scope === undefined) return;
    const key = `${name} ${scope}`;
    const window = windows.get(key) ?? { operation: name, scope, ...peakOf(secondMs) };
    windows.set(key, window);
    window.arrive(arrivedAt());
  }

  return {
    async answer(request: ApiRequest): Promise<ApiAnswer> {
      const answered = answer(request);
      countArrival(request);
      const given = await answered;
      if (given.status !== 200) count(refusals, JSON.parse(given.body).code);
      return given;
    },
    statistics: (): Statistics => ({
      ...structuredClone({ arrivals, refusals, strayCredentials }),
      peaks: [...windows.values()].map(({ operation, scope, peak }) => ({
        ...{ operation, scope, requests: peak() },
      })),
    }),
  };
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
