import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import { minuteMs } from "../contract/time.ts";
import { explained } from "../db/database-errors.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { firstThrown, messageOf } from "../errors.ts";
import { type ExportName, exportFile, isExportName } from "../page/download.ts";
import { html } from "../page/html.ts";
import { messagePage } from "../page/layout.ts";
import { askedIn, missedIn, selectionOf } from "../page/selection.ts";
import { readWallets } from "../page/wallets.ts";
import type { RouteGroup, ServeDeps } from "./route-group.ts";

// A download holds a connection of the pool until its client has read it: other requests need
// connections too.
const atOnceMax = 3;
// How long the transaction may wait for a slow client. A client that reads nothing loses its connection
// sooner, after one or two minutes (app.ts), which ends the transaction.
const idleMaxMs = 5 * minuteMs;

/** Files of the bills that the page has selected, sent while they are read. */
export const downloads: RouteGroup = (app, deps) => {
  let underWay = 0;
  app.get("/export", async (request, reply) => {
    const asked = askedIn(new URL(request.url, "http://localhost").searchParams);
    const format = asked.get("format");
    reply.header("cache-control", "no-store").header("x-content-type-options", "nosniff");
    if (!isExportName(format)) return refuse(reply, 404, "There is no such format");
    if (underWay >= atOnceMax) {
      reply.header("retry-after", "30");
      return refuse(reply, 503, "Other files are being read: try again when they are done");
    }
    underWay += 1;
    return send(reply, deps, asked, format).finally(() => {
      underWay -= 1;
    });
  });
};

const refuse = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).type("text/html; charset=utf-8").send(messagePage(text, html``).text);

/**
 * Resolves when the client has the file, or has gone. A file that fails midway is cut off, so that
 * nobody takes it for complete.
 */
async function send(
  reply: FastifyReply,
  { read, log }: ServeDeps,
  asked: URLSearchParams,
  format: ExportName,
): Promise<FastifyReply> {
  try {
    await read(
      async (tx) => {
        const now = await readExchangeTime(tx);
        const selection = selectionOf(asked, (await readWallets(tx, asked)).wallets, now);
        if (selection === undefined) return refuse(reply, 404, "Nothing is stored yet");
        // A file outlives the page that says so.
        const [missed] = missedIn(asked, selection);
        if (missed !== undefined) return refuse(reply, 404, `There is no ${missed}`);
        const file = await exportFile(tx, selection, format, now);
        const body = new PassThrough();
        reply
          .type(file.type)
          .header("content-disposition", `attachment; filename="${file.name}"`)
          .send(body);
        await pipeline(Readable.from(file.chunks), body);
        return reply;
      },
      { idleMaxMs },
    );
  } catch (thrown) {
    if (!reply.sent) throw thrown;
    log.warn(
      { error: messageOf(explained(firstThrown(thrown))) },
      "a file was not sent to its end",
    );
  }
  return reply;
}
