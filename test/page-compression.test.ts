import { get, type IncomingMessage } from "node:http";
import { PassThrough, type Transform } from "node:stream";
import { text } from "node:stream/consumers";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compressAnswers, encodingFor } from "../src/serve/page/compression.ts";

const html = "text/html; charset=utf-8";
const long = "a part of the page ".repeat(200);

// What the route answers with, and as what.
let answer: { readonly type: string; readonly body: string | PassThrough };
const app = fastify({ forceCloseConnections: true });
compressAnswers(app);
app.get("/", { exposeHeadRoute: true }, (_request, reply) =>
  reply.type(answer.type).send(answer.body),
);
let url: string;
beforeAll(async () => {
  url = await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(() => app.close());

const decoders: Readonly<Record<string, () => Transform>> = {
  br: createBrotliDecompress,
  gzip: createGunzip,
  none: () => new PassThrough(),
};

const ask = (accepts: string, method = "GET"): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { "accept-encoding": accepts };
    get(url, { method, headers, agent: false }, resolve).on("error", reject);
  });

describe.each(["br", "gzip"])("%s", (encoding) => {
  const decoded = (from: IncomingMessage) => from.pipe(decoders[encoding]?.() ?? new PassThrough());

  test("is readable part by part: each comes before the next is written", async () => {
    const body = new PassThrough();
    answer = { type: html, body };
    body.write("first");
    const response = await ask(encoding);
    expect(response.headers).toMatchObject({
      "content-encoding": encoding,
      vary: "accept-encoding",
    });
    const parts = decoded(response).setEncoding("utf8").iterator();
    expect(await parts.next()).toEqual({ done: false, value: "first" });
    body.end(long);
    let rest = "";
    for await (const part of parts) rest += part;
    expect(rest).toBe(long);
  });

  test("of a body that is cut short is cut, too", async () => {
    const body = new PassThrough();
    answer = { type: "text/csv", body };
    body.write(long);
    const response = await ask(encoding);
    response.once("data", () => body.destroy(new Error("the database is away")));
    await expect(text(response)).rejects.toThrow("aborted");
  });

  test("is smaller than a text, and gives the same", async () => {
    answer = { type: html, body: long };
    const response = await ask(encoding);
    let bytes = 0;
    response.on("data", (part: Buffer) => {
      bytes += part.length;
    });
    expect(await text(decoded(response))).toBe(long);
    expect(bytes).toBeLessThan(long.length / 10);
    const { headers, statusCode } = await ask(encoding, "HEAD");
    expect(statusCode).toBe(200);
    expect(headers["content-encoding"]).toBe(encoding);
  });
});

test.each([
  ["text/event-stream", long],
  ["application/vnd.apache.parquet", long],
  [html, "short"],
])("%s with %.5s… is sent as it is", async (type, body) => {
  answer = { type, body };
  const response = await ask("gzip, br");
  expect(response.headers["content-encoding"]).toBeUndefined();
  expect(await text(response)).toBe(body);
});

test.each([
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["gzip, deflate, br, zstd", "br"],
  ["gzip", "gzip"],
  ["GZIP;q=0.5, br;q=0", "gzip"],
  ["br;q=0.2 , gzip; q=0.8", "gzip"],
  ["*", "br"],
  ["*;q=0", undefined],
  ["br;q=0, *", "gzip"],
  ["gzip;q=many", undefined],
])("a client that accepts %j gets %j", (accepted, encoding) => {
  expect(encodingFor(accepted)).toBe(encoding);
});
