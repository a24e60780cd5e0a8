import { PassThrough } from "node:stream";
import type { FastifyReply } from "fastify";
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

/** Sends each part as soon as it is written. If the first one fails, the answer is 503. */
export async function sendInParts(
  reply: FastifyReply,
  log: Log,
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
  if (await begun.promise) return reply.send(body);
  return reply.code(503).send(away.text);
}
