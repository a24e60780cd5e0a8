import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { secondMs } from "../../contract/time.ts";
import { explained } from "../../db/database-errors.ts";
import { firstThrown, messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { type Html, html } from "../../page/html.ts";
import { messagePage } from "../../page/layout.ts";

/** Shown where the rest of a page cannot be read. */
const broken = html`<section class="card failed" role="alert"><h2>The rest cannot be shown</h2>
<p>The database did not answer to the end. What stands above is right. The server's log says more.</p></section>`;

const away = messagePage(
  "The database does not answer",
  html`Try again in a moment. The server's log says why.`,
);

// The first part of a page is there within a second.
const patienceMs = 3 * secondMs;

export type PartsDeps = {
  readonly log: Log;
  /** The page to send instead where the rows of some accounts cannot be read. */
  readonly unreachable: () => Promise<Html | undefined>;
};

/**
 * Sends each part as soon as it is written. If the first one fails, the answer is 503; so it is where
 * the first one takes long because some accounts' rows cannot be read.
 */
export async function sendInParts(
  reply: FastifyReply,
  { log, unreachable }: PartsDeps,
  work: (write: (part: Html) => void) => Promise<void>,
): Promise<FastifyReply> {
  const body = new PassThrough();
  const begun = Promise.withResolvers<boolean>();
  const write = ({ text }: Html): void => {
    // The reader may have gone.
    if (!body.destroyed) body.write(text);
    begun.resolve(true);
  };
  void work(write)
    .catch((thrown: unknown) => {
      log.error({ error: messageOf(explained(firstThrown(thrown))) }, "the page failed");
      begun.resolve(false);
      write(broken);
    })
    .finally(() => body.end());
  reply.type("text/html; charset=utf-8");
  const over = new AbortController();
  const isLate = delay(patienceMs, undefined, { signal: over.signal }).catch(() => undefined);
  const early = await Promise.race([begun.promise, isLate]);
  over.abort();
  if (early === true) return reply.send(body);
  const instead = await unreachable().catch(() => undefined);
  if (instead !== undefined) return reply.code(503).send(instead.text);
  return (await begun.promise) ? reply.send(body) : reply.code(503).send(away.text);
}
