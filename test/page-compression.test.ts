import { get, type IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { fastify } from "fastify";
import { expect, test } from "vitest";
import { acceptsGzip, compressAnswers } from "../src/serve/page/compression.ts";

test("an answer is gzip, readable part by part; one that is cut short is cut, and what gains nothing is sent as it is", async () => {
  const long = "a part of the page ".repeat(200);
  // What the route answers with, and as what.
  let answer: readonly [type: string, body: string | PassThrough] = ["", ""];
  await using app = fastify({ forceCloseConnections: true });
  compressAnswers(app);
  app.get("/", { exposeHeadRoute: true }, (_request, reply) =>
    reply.type(answer[0]).send(answer[1]),
  );
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const ask = (method = "GET"): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { "accept-encoding": "gzip, br" };
      get(url, { method, headers, agent: false }, resolve).on("error", reject);
    });
  const html = "text/html; charset=utf-8";
  const body = new PassThrough();
  answer = [html, body];
  body.write("first");
  const first = await ask();
  expect(first.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  const parts = first.pipe(createGunzip()).setEncoding("utf8").iterator();
  expect(await parts.next()).toEqual({ done: false, value: "first" });
  body.end(long);
  expect((await Array.fromAsync(parts)).join("")).toBe(long);
  const cut = new PassThrough();
  answer = ["text/csv", cut];
  cut.write(long);
  const response = await ask();
  response.once("data", () => cut.destroy(new Error("the database is away")));
  await expect(text(response)).rejects.toThrow("aborted");
  answer = [html, long];
  expect(await ask("HEAD")).toMatchObject({
    ...{ statusCode: 200, headers: { "content-encoding": "gzip" } },
  });
  for (answer of [
    ["text/event-stream", long],
    ["application/vnd.apache.parquet", long],
    [html, "short"],
  ] as const) {
    const plain = await ask();
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(await text(plain)).toBe(answer[1]);
  }
});

test("a client says whether it accepts gzip", () => {
  const accepting = ["gzip, deflate, br, zstd", "br;q=0.2 , GZIP; q=0.8", "*"];
  const refusing = [undefined, "identity, br", "gzip;q=0, br", "*;q=0.0"];
  expect([...accepting, ...refusing].filter(acceptsGzip)).toEqual(accepting);
});
