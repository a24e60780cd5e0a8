import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type FleetExchangeFacts = {
  readonly url: string;
  readonly accounts: readonly { readonly name: string }[];
};

export type FleetCounts = {
  readonly requests: number;
  readonly refusals: Readonly<Record<string, number>>;
  /**
   * The most requests in any rolling second from one address, and of one user for one operation.
   */
  readonly addressPeak: number;
  readonly uidPeak: number;
};

export type FleetExchange = AsyncDisposable &
  FleetExchangeFacts & {
    counts(): Promise<FleetCounts>;
    /** Delays each answer by this time from now on. */
    delay(ms: number): void;
  };

const program = fileURLToPath(new URL("exchange-process.ts", import.meta.url));

export async function startFleetExchange(accounts: number): Promise<FleetExchange> {
  const child = fork(program, [JSON.stringify({ accounts })]);
  const [facts] = (await once(child, "message")) as [FleetExchangeFacts];
  return {
    ...facts,
    delay: (ms) => void child.send(ms),
    async counts() {
      child.send("counts");
      const [counts] = (await once(child, "message")) as [FleetCounts];
      return counts;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}
