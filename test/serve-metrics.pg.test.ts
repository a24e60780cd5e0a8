// /metrics has the same and what serve counts, by route and code, for many that ask at once in one reading, and
// none while the database is away.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hourMs } from "../src/contract/time.ts";
import { inTransaction, readOnly, readOnlyAtOnce } from "../src/db/connect.ts";
import type { Log } from "../src/log.ts";
import { createApp } from "../src/serve/app.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, type Mirror, openMirror } from "./support/mirror.ts";
import { hasPromtool, promtool, seriesOf } from "./support/promtool.ts";
import { readWhole } from "./support/read-whole.ts";
import { unconfigured } from "./support/roster.ts";
import { coverLedger } from "./support/small-ledger.ts";

const now = Date.UTC(2026, 5, 1);
const key = aMirrorKey("main", { incomplete: "allow" });
const { database, tables } = await fileDatabase();
const path = "/api/v2/mix/account/bill";

let mirror: Mirror;
beforeAll(async () => {
  const ledger = { account: "main", productType: "USDT-FUTURES" } as const;
  await inTransaction(tables.db, (tx) => coverLedger(tx, ledger, now - 300 * hourMs, now - hourMs));
  mirror = openMirror(database.url, { keys: [key], now: () => now });
});
afterAll(() => mirror[Symbol.asyncDispose]());

const scrape = async () => {
  const answer = await mirror.app.inject({ method: "GET", url: "/metrics" });
  return { ...answer, values: (name: string) => seriesOf(answer.body, `bill_sync_${name}`) };
};
const get = (url: string, headers: Record<string, string> = {}) =>
  mirror.app.inject({ method: "GET", url, headers });

describe("/metrics", () => {
  test("has what is stored, and what the server answered, by route and never by what was typed", async () => {
    await get("/healthz");
    await get("/healthz");
    await get("/nothing?secret=hunter2");
    await get("/bill_sync_forged{evil}");
    await mirror.ask(key, path, { productType: "USDT-FUTURES" });
    const first = await scrape();
    expect(first.statusCode).toBe(200);
    expect(first.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    const { body, values } = first;
    expect(body).not.toMatch(/hunter2|forged/);
    expect(values("complete_through_timestamp_seconds")).toEqual({
      "": (now - hourMs) / 1_000,
    });
    const answered = {
      'method="GET",route="/healthz",status="200"': 2,
      'method="GET",route="none",status="404"': 2,
      [`method="GET",route="${path}",status="200"`]: 1,
    };
    expect(values("http_requests_total")).toEqual(answered);
    expect(values("http_request_duration_seconds_count")).toEqual({
      'route="/healthz"': 2,
      'route="none"': 2,
      [`route="${path}"`]: 1,
    });
    // The request before is counted now.
    expect((await scrape()).values("http_requests_total")).toEqual({
      ...answered,
      'method="GET",route="/metrics",status="200"': 1,
    });
    if (!hasPromtool)
      return console.log("promtool is not installed: /metrics was not checked by it");
    expect(await promtool(["check", "metrics"], body)).toEqual({ code: 0, output: "" });
  });

  test("counts each refused key and signature by its code, those past the limit too", async () => {
    const signed = { "access-key": key.apiKey, "access-passphrase": key.apiPassphrase };
    const timestamp = String(now);
    for (let tried = 0; tried < 25; tried++)
      await get(path, { ...signed, "access-sign": "wrong", "access-timestamp": timestamp });
    await get(path, { "access-key": "another", "access-sign": "x", "access-timestamp": timestamp });
    await get(path);
    const { values, body } = await scrape();
    expect(values("auth_failures_total")).toEqual({
      'code="40009"': 25,
      'code="40037"': 1,
      'code="40001"': 1,
    });
    expect(body).not.toContain(key.apiKey);
  });

  test("asks the database once where many ask at once", async () => {
    let reads = 0;
    const read = readOnly(tables.db);
    const app = createApp({
      ...depsOf(),
      read: (work, options) => {
        reads += 1;
        return read(work, options);
      },
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.inject({ method: "GET", url: "/metrics" })),
    );
    expect(answers.every(({ statusCode }) => statusCode === 200)).toBe(true);
    expect(reads).toBe(1);
    expect((await app.inject({ method: "GET", url: "/metrics" })).statusCode).toBe(200);
    expect(reads).toBe(2);
  });
});

const depsOf = () => {
  const take = () => undefined;
  return {
    readAtOnce: readOnlyAtOnce(tables.db, true),
    readFirst: () => Promise.reject(new Error("metrics are not health")),
    readReachable: readWhole,
    keys: () => new Map(),
    now: () => now,
    ...unconfigured,
    log: { debug: take, info: take, warn: take, error: take } as unknown as Log,
  };
};

test("docs/reference.md names what serve counts, with its labels", async () => {
  const { body } = await scrape();
  const page = readFileSync("docs/reference.md", "utf8");
  const rows = [...page.matchAll(/^\| `(bill_sync_(?:http|auth)_\w+)` \| ([a-z_, ]*) \|/gm)];
  expect(rows.map(([, name]) => name)).toEqual(
    [...body.matchAll(/^# TYPE (bill_sync_(?:http|auth)_\w+) /gm)].map(([, name]) => name),
  );
  for (const [, name = "", labels = ""] of rows) {
    const [series = ""] = Object.keys(
      seriesOf(body, name.endsWith("_seconds") ? `${name}_count` : name),
    );
    expect([...series.matchAll(/(\w+)="/g)].map(([, label]) => label)).toEqual(labels.split(", "));
  }
});
