import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import { periodIn } from "../../../books/export/time-zone.ts";
import { readCloseReport } from "../../../books/report/read-close.ts";
import { reportHtml } from "../../../books/report/write-report.ts";
import type { ProductType } from "../../../core/contract/product-types.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { readExchangeTime } from "../../../core/store/known-time.ts";
import { type EpochMs, minuteMs } from "../../../lib/time.ts";
import { html } from "../../../output/html.ts";
import { faultOf, type RouteGroup, type ServeDeps } from "../route-group.ts";
import { type DownloadFormat, exportFile, fileName, isDownloadFormat } from "./download.ts";
import { messagePage } from "./layout.ts";
import { type Asked, type PageQuery, walletProductTypes } from "./selection.ts";
import { queryOf, sendPage } from "./send-page.ts";
import { readPageQuery } from "./wallets.ts";

// A download holds a connection of the pool until its client has read it: other requests need
// connections too.
const atOnceMax = 3;
// How long the transaction may wait for a slow client. A client that reads nothing loses its connection
// sooner, after one or two minutes (app.ts), which ends the transaction.
const idleMaxMs = 5 * minuteMs;

/** Files of the bills that the page has selected, sent while they are read, and the close of a month. */
export const downloads: RouteGroup = (app, deps) => {
  let underWay = 0;
  const inTurn = async (
    reply: FastifyReply,
    work: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    if (underWay >= atOnceMax) {
      reply.header("retry-after", "30");
      return refuse(reply, 503, "Other files are being read: try again when they are done");
    }
    underWay += 1;
    return work().finally(() => {
      underWay -= 1;
    });
  };
  app.get("/export", async (request, reply) => {
    const asked = queryOf(request);
    const format = asked.get("format");
    if (!isDownloadFormat(format)) return refuse(reply, 404, "There is no such format");
    return inTurn(reply, () => send(reply, deps, asked, format));
  });
  app.get("/close", (request, reply) =>
    inTurn(reply, () => sendClose(reply, deps, queryOf(request))),
  );
};

/** The close of the month in which the selected days end, of all coins of the wallet. */
async function sendClose(
  reply: FastifyReply,
  { read, readRoster, limits }: ServeDeps,
  asked: Asked,
): Promise<FastifyReply> {
  const close = await read(async (tx) => {
    const selection = await selectedIn(tx, asked, await readExchangeTime(tx));
    if (typeof selection === "string") return selection;
    const { account, product, to } = selection;
    const month = to.slice(0, 7);
    const productTypes = walletProductTypes(selection) as readonly ProductType[];
    const report = await readCloseReport(tx, await readRoster(tx, [account]), {
      ...{ period: month, span: periodIn(month, "UTC"), zone: "UTC" },
      selection: { accounts: [account], productTypes },
      limits,
    });
    return { name: fileName([account, product, month], "html"), text: reportHtml(report) };
  });
  if (typeof close === "string") return refuse(reply, 404, close);
  return reply
    .type("text/html; charset=utf-8")
    .header("content-disposition", `attachment; filename="${close.name}"`)
    .send(close.text);
}

/** The wallet and days that an address selects; a sentence if they do not exist. */
async function selectedIn(
  tx: Transaction,
  asked: Asked,
  now: EpochMs,
): Promise<PageQuery | string> {
  const selected = await readPageQuery(tx, asked, now);
  if (selected === undefined) return "Nothing is stored yet";
  // A file outlives the page that says so.
  const [missed] = selected.missed;
  return missed === undefined ? selected.selection : `There is no ${missed}`;
}

const refuse = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  sendPage(reply, status, messagePage(text, html``));

/**
 * Resolves when the client has the file, or has gone. A file that fails midway is cut off, so that
 * nobody takes it for complete.
 */
async function send(
  reply: FastifyReply,
  { read, log }: ServeDeps,
  asked: Asked,
  format: DownloadFormat,
): Promise<FastifyReply> {
  try {
    await read(
      async (tx) => {
        const now = await readExchangeTime(tx);
        const selection = await selectedIn(tx, asked, now);
        if (typeof selection === "string") return refuse(reply, 404, selection);
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
    log.warn(faultOf(thrown), "a file was not sent to its end");
  }
  return reply;
}
