import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hourMs, retentionMs } from "../../src/lib/time.ts";

/*
 * An exchange that costs next to nothing: it serves the same ledger to every account and product
 * type, and a page is a slice of one buffer. Run by openPageExchange in a process of its own.
 *
 *   node bench/support/page-exchange.ts BILLS
 */

const count = Number(process.argv[2]);
const pageSize = 100;
// Serves bills up to the start of the hour, so that a later run in the same hour finds no new ones.
const newest = Math.floor(Date.now() / hourMs) * hourMs;
const stepMs = (retentionMs - 2 * hourMs) / count;
const idEpoch = 1_435_725_920_677n;

/** Newest first; no two bills in the same millisecond. */
const timeOf = (index: number): number => newest - Math.ceil((index + 1) * stepMs);
const idOf = (index: number): string => String((BigInt(timeOf(index)) - idEpoch) << 22n);
const types = ["open_long", "close_long", "open_short", "close_short", "contract_settle_fee"];

const money = (seed: number, digits: number): string =>
  (((seed * 7_919) % 1_000_003) / 997).toFixed(digits);

/** A row as text, as long as one of the real exchange. */
const rowOf = (index: number): string =>
  `{"billId":"${idOf(index)}","symbol":"BTCUSDT","amount":"${index % 2 === 0 ? "-" : ""}` +
  `${money(index, 8)}","fee":"-${money(index + 3, 8)}","feeByCoupon":"","businessType":` +
  `"${types[index % types.length]}","coin":"USDT","balance":"${money(index + 7, 12)}",` +
  `"cTime":"${timeOf(index)}"},`;

const starts = new Float64Array(count + 1);
const pieces: Buffer[] = [];
for (let index = 0; index < count; index++) {
  const row = Buffer.from(rowOf(index));
  starts[index + 1] = (starts[index] ?? 0) + row.length;
  pieces.push(row);
}
const ledger = Buffer.concat(pieces);
pieces.length = 0;

/** The first index whose bill is not later than this time. */
const indexAt = (time: number): number => {
  let index = Math.max(0, Math.floor((newest - time) / stepMs) - 2);
  while (index < count && timeOf(index) > time) index += 1;
  return Math.min(index, count);
};

function pageOf(query: URLSearchParams): Buffer {
  const startTime = Number(query.get("startTime") ?? 0);
  const endTime = Number(query.get("endTime") ?? newest);
  const below = query.get("idLessThan");
  const belowTime = below === null ? endTime : Number((BigInt(below) >> 22n) + idEpoch) - 1;
  const from = indexAt(Math.min(endTime, belowTime));
  const limit = Math.min(pageSize, Number(query.get("limit") ?? pageSize));
  const to = Math.max(from, Math.min(from + limit, indexAt(startTime - 1)));
  const endId = to === from ? "" : idOf(to - 1);
  const head = `{"code":"00000","msg":"success","requestTime":${Date.now()},"data":{"bills":[`;
  const rows = ledger.subarray(starts[from], Math.max(starts[from] ?? 0, (starts[to] ?? 0) - 1));
  return Buffer.concat([Buffer.from(head), rows, Buffer.from(`],"endId":"${endId}"}}`)]);
}

/** Nothing is known of keys, and wallets are empty. What breaks the contract would be asked for again for up to 20 s. */
const answerOf = (data: string): Buffer =>
  Buffer.from(`{"code":"00000","msg":"success","requestTime":${Date.now()},"data":${data}}`);

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
  const body = pathname.endsWith("/bill")
    ? pageOf(searchParams)
    : answerOf(pathname.endsWith("/info") ? "{}" : "[]");
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": String(body.length),
  });
  response.end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
