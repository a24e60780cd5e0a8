import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Statistics } from "../../test/exchange/statistics.ts";
import type { Kind, Shape } from "./ledger.ts";

export type ExchangeOptions = {
  readonly kind: Kind;
  readonly shape: Shape;
  readonly bills: number;
  /** Of the round trip. Each half is drawn uniformly from half of mean ± spread. */
  readonly meanMs: number;
  readonly spreadMs: number;
};

export type ExchangeFacts = {
  readonly url: string;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly apiPassphrase: string;
  readonly necessary: number;
};

type Exchange = AsyncDisposable &
  ExchangeFacts & {
    statistics(): Promise<ExchangeStatistics>;
  };

/** The arrivals so far, and the time from sending the first request to the last answer. */
type ExchangeStatistics = Statistics & {
  readonly seconds: number;
  /** How many requests for bills arrived in each second since the first request. */
  readonly perSecond: readonly number[];
};

const program = fileURLToPath(new URL("exchange-process.ts", import.meta.url));

/**
 * The sandbox exchange in another process, so that its work does not slow down the measured
 * program.
 */
export async function startExchange(options: ExchangeOptions): Promise<Exchange> {
  const child = fork(program, [JSON.stringify(options)]);
  const [facts] = (await once(child, "message")) as [ExchangeFacts];
  return {
    ...facts,
    async statistics() {
      child.send("statistics");
      const [statistics] = (await once(child, "message")) as [ExchangeStatistics];
      return statistics;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
