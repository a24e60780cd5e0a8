import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import type { Chunks } from "../../../books/export/exported-bill.ts";
import { startExport } from "../../../books/export/start-export.ts";
import { periodIn } from "../../../books/export/time-zone.ts";
import { shownMax } from "../../../books/report/close-report.ts";
import { readCloseReport } from "../../../books/report/read-close.ts";
import { reportHtml } from "../../../books/report/write-report.ts";
import { type Finding, isHole } from "../../../check/health/finding-kinds.ts";
import { usualLimits } from "../../../check/health/finding-rows.ts";
import { readFindings } from "../../../check/health/findings.ts";
import type { ProductType } from "../../../core/contract/product-types.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { readExchangeTime } from "../../../core/store/known-time.ts";
import { type EpochMs, epochMs, isoTime, minuteMs } from "../../../lib/time.ts";
import { html } from "../../../output/html.ts";
import { faultOf, type RouteGroup, type ServeDeps } from "../route-group.ts";
import { askedIn, messagePage, sendPage } from "./layout.ts";
import { type Asked, type PageQuery, timesOf, walletProductTypes } from "./selection.ts";
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
    const asked = askedIn(request);
    const format = asked.get("format");
    if (!isDownloadFormat(format)) return refuse(reply, 404, "There is no such format");
    return inTurn(reply, () => send(reply, deps, asked, format));
  });
  app.get("/close", (request, reply) =>
    inTurn(reply, () => sendClose(reply, deps, askedIn(request))),
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
      ...{ limits, rowsMax: shownMax },
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

/** The formats that the page offers, with their usual names. */
export const downloadFormats = {
  csv: { title: "CSV", ending: "csv", type: "text/csv; charset=utf-8; header=present" },
  xlsx: {
    title: "Excel",
    ending: "xlsx",
    type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  },
  parquet: { title: "Parquet", ending: "parquet", type: "application/vnd.apache.parquet" },
  hledger: { title: "hledger", ending: "journal", type: "text/plain; charset=utf-8" },
  beancount: { title: "beancount", ending: "beancount", type: "text/plain; charset=utf-8" },
} as const;

type DownloadFormat = keyof typeof downloadFormats;

const isDownloadFormat = (name: string | null): name is DownloadFormat =>
  name !== null && Object.hasOwn(downloadFormats, name);

/** A file of the selected bills. */
type ExportFile = {
  /** The name says so if the time was not read completely, or if balances do not follow. */
  readonly name: string;
  readonly type: string;
  readonly chunks: Chunks;
};

/**
 * Starts an export inside one transaction. Nothing else may use the transaction until the file's chunks end.
 */
export async function exportFile(
  tx: Transaction,
  selection: PageQuery,
  format: DownloadFormat,
  now: EpochMs,
): Promise<ExportFile> {
  const { account, product, coin, from, to } = selection;
  const productTypes = walletProductTypes(selection) as readonly ProductType[];
  const { ending, type } = downloadFormats[format];
  const words = [account, product, coin, from, "to", to, ...(await lackOf(tx, selection, now))];
  return {
    name: fileName(words, ending),
    type,
    chunks: await startExport(tx, {
      ...{ format, now },
      selection: { accounts: [account], productTypes, coins: [coin], ...timesOf(selection) },
      ledgers: productTypes.map((productType) => ({ account, productType, isStored: true })),
    }),
  };
}

const fileName = (words: readonly string[], ending: string): string =>
  `${words.map((word) => word.replaceAll(/[^\w.-]/g, "_")).join("-")}.${ending}`;

/** Words for the file's name that say what is not known to be complete, or does not add up. */
async function lackOf(
  tx: Transaction,
  selection: PageQuery,
  now: EpochMs,
): Promise<readonly string[]> {
  const { account, coin } = selection;
  const productTypes = walletProductTypes(selection) as readonly ProductType[];
  const times = timesOf(selection);
  const span = { from: times.from, to: epochMs(Math.min(now, times.to)) };
  // A file reports all unread time; where only the newest is unread, its name has the time that it is read through.
  const limits = { ...usualLimits, maxAgeMs: 0 };
  const findings = await readFindings(tx, { now, accounts: [account], productTypes, span, limits });
  const isNewest = ({ kind, since = epochMs(0) }: Finding) =>
    kind === "behind" || (kind === "unread" && since > now - usualLimits.maxAgeMs);
  const isIncomplete = findings.some((one) => isHole(one) && !isNewest(one));
  const isBroken = findings.some((one) => one.kind === "broken" && ["", coin].includes(one.coin));
  const through = findings
    .filter(isNewest)
    .reduce<number>((to, { since }) => Math.min(to, since ?? 0), span.to);
  return [
    ...(isIncomplete || through <= span.from
      ? ["not-all-read"]
      : through === span.to
        ? []
        : ["read-through", isoTime(epochMs(through)).slice(0, 16).replace(":", "").concat("Z")]),
    ...(isBroken ? ["does-not-add-up"] : []),
  ];
}
