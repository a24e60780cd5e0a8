// /metrics has the same and what serve counts, by route and code, for many that ask at once in one reading, and
// none while the database is away.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readOnly } from "../src/core/postgres/connect.ts";
import { hourMs } from "../src/lib/time.ts";
import { createApp } from "../src/wings/serve/app.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { hasPromtool, promtool, seriesOf } from "./support/promtool.ts";
import { serverDeps } from "./support/server-deps.ts";
import { coverLedger } from "./support/stored-ledger.ts";

const now = Date.UTC(2026, 5, 1);
const { db, url: databaseUrl } = await fileDatabase();

test("/metrics has what is stored, and what the server answered and refused, by route and code and never by what was typed, as the docs say", async () => {
  const key = aMirrorKey("main", { incomplete: "allow" });
  const path = "/api/v2/mix/account/bill";
  const ledger = { account: "main", productType: "USDT-FUTURES" } as const;
  await coverLedger(db, ledger, now - 300 * hourMs, now - hourMs);
  await using mirror = openMirror(databaseUrl, { keys: [key], now: () => now });
  const get = (url: string, headers: Record<string, string> = {}) =>
    mirror.app.inject({ method: "GET", url, headers });
  for (const url of ["/healthz", "/healthz", "/nothing?secret=hunter2", "/bill_sync_forged{evil}"])
    await get(url);
  await mirror.ask(key, path, { productType: "USDT-FUTURES" });
  const first = await get("/metrics");
  expect(first.statusCode).toBe(200);
  expect(first.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(first.body).not.toMatch(/hunter2|forged/);
  const valuesIn = (text: string, name: string) => seriesOf(text, `bill_sync_${name}`);
  expect(valuesIn(first.body, "read_through_timestamp_seconds")).toEqual({
    "": (now - hourMs) / 1_000,
  });
  const answered = {
    'method="GET",route="/healthz",status="200"': 2,
    'method="GET",route="none",status="404"': 2,
    [`method="GET",route="${path}",status="200"`]: 1,
  };
  expect(valuesIn(first.body, "http_requests_total")).toEqual(answered);
  expect(valuesIn(first.body, "http_request_duration_seconds_count")).toEqual({
    ...{ 'route="/healthz"': 2, 'route="none"': 2, [`route="${path}"`]: 1 },
  });
  // Each refused key and signature is counted, those past the limit too.
  const timestamp = String(now);
  const signed = { "access-key": key.apiKey, "access-passphrase": key.apiPassphrase };
  for (let tried = 0; tried < 25; tried++)
    await get(path, { ...signed, "access-sign": "wrong", "access-timestamp": timestamp });
  await get(path, { "access-key": "another", "access-sign": "x", "access-timestamp": timestamp });
  await get(path);
  const { body } = await get("/metrics");
  // The request before is counted now.
  expect(valuesIn(body, "http_requests_total")).toMatchObject({
    ...{ ...answered, 'method="GET",route="/metrics",status="200"': 1 },
  });
  expect(valuesIn(body, "auth_failures_total")).toEqual({
    ...{ 'code="40009"': 25, 'code="40037"': 1, 'code="40001"': 1 },
  });
  expect(body).not.toContain(key.apiKey);
  const page = readFileSync("docs/reference.md", "utf8");
  const rows = [...page.matchAll(/^\| `(bill_sync_(?:http|auth)_\w+)` \| ([a-z_, ]*) \|/gm)];
  expect(rows.map(([, name]) => name)).toEqual(
    [...body.matchAll(/^# TYPE (bill_sync_(?:http|auth)_\w+) /gm)].map(([, name]) => name),
  );
  for (const [, name = "", labels = ""] of rows) {
    const series = seriesOf(body, name.endsWith("_seconds") ? `${name}_count` : name);
    const named = Object.keys(series)[0]?.matchAll(/(\w+)="/g) ?? [];
    expect([...named].map(([, label]) => label)).toEqual(labels.split(", "));
  }
  if (!hasPromtool) return console.log("promtool is not installed: /metrics was not checked by it");
  expect(await promtool(["check", "metrics"], body)).toEqual({ code: 0, output: "" });
});

test("the database is asked once where many ask for /metrics at once", async () => {
  let reads = 0;
  const read = readOnly(db);
  const app = createApp(
    serverDeps(db, {
      read: (work, options) => {
        reads += 1;
        return read(work, options);
      },
    }),
  );
  const ask = async () => (await app.inject({ method: "GET", url: "/metrics" })).statusCode;
  expect(new Set(await Promise.all(Array.from({ length: 20 }, ask)))).toEqual(new Set([200]));
  expect(reads).toBe(1);
  await ask();
  expect(reads).toBe(2);
});
