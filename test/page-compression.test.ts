import { get, type IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { acceptsGzip, compressAnswers } from "../src/serve/page/compression.ts";

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

const ask = (accepts: string, method = "GET"): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { "accept-encoding": accepts };
    get(url, { method, headers, agent: false }, resolve).on("error", reject);
  });

describe("gzip", () => {
  const encoding = "gzip";
  const decoded = (from: IncomingMessage) => from.pipe(createGunzip());

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
  [undefined, false],
  ["identity, br", false],
  ["gzip, deflate, br, zstd", true],
  ["br;q=0.2 , GZIP; q=0.8", true],
  ["gzip;q=0, br", false],
  ["*", true],
  ["*;q=0.0", false],
])("a client that accepts %j gets gzip: %j", (accepted, isSent) => {
  expect(acceptsGzip(accepted)).toBe(isSent);
});
