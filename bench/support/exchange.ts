import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

type PageExchange = AsyncDisposable & { readonly url: string };

const script = fileURLToPath(new URL("page-exchange.ts", import.meta.url));

/** Starts an exchange without rate limit and latency, each ledger of which has this many bills. */
export async function openPageExchange(billsALedger: number): Promise<PageExchange> {
  const child = fork(script, [String(billsALedger)]);
  const [port] = await once(child, "message");
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}
