import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { secondMs } from "../contract/time.ts";
import { messageOf, ReportableError } from "../errors.ts";

// Shorter than the time that systemd, for example, waits before it kills a server.
const goodbyeMaxMs = 5 * secondMs;

export type Listening = AsyncDisposable & { readonly url: string };

/**
 * Listens until it is disposed of. Then it accepts no new request, and lets running ones end.
 * @throws ReportableError if the port cannot be taken.
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  try {
    const url = await app.listen({ host, port });
    return { url, [Symbol.asyncDispose]: () => close(app) };
  } catch (error) {
    throw new ReportableError(
      `port ${port} of ${host} cannot be used (${messageOf(error)}); choose another, or 0 for a free one`,
    );
  }
}

async function close(app: FastifyInstance): Promise<void> {
  const closed = app.close();
  await Promise.race([closed, delay(goodbyeMaxMs, undefined, { ref: false })]);
  app.server.closeAllConnections();
  await closed;
}
