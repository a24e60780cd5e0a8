// A page of the mirror is the exchange's, letter for letter (properties, against the sandbox's answer to the
// same question).

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { financialRecords } from "../src/core/contract/financial-records.ts";
import { parseExactJson, sortedJson } from "../src/core/contract/json.ts";
import type { Query } from "../src/core/contract/operation.ts";
import { classicProductTypes, unifiedProductTypes } from "../src/core/contract/product-types.ts";
import { dayMs, hourMs, minuteMs, secondMs } from "../src/lib/time.ts";
import { quirky } from "./exchange/quirks.ts";
import type { Sandbox } from "./exchange/sandbox.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, type Mirror, openMirror, signedHeaders } from "./support/mirror.ts";
import { type Simulation, simulate } from "./support/simulation.ts";

const classic = aMirrorKey("classic");
const unified = aMirrorKey("unified");
let mirror: Mirror;
let house: Readonly<Record<"classic" | "unified", Simulation & AsyncDisposable>>;

beforeAll(async () => {
  const { url } = await fileDatabase();
  house = {
    classic: simulate(url, { seed: 5, name: "classic", density: 0.4 }),
    unified: simulate(url, {
      seed: 6,
      name: "unified",
      density: 0.5,
      productTypes: unifiedProductTypes,
      modes: [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }],
      wrapSource: quirky({ sortedBy: "time" }),
    }),
  };
  for (const simulation of Object.values(house)) {
    expect((await simulation.sync()).error).toBeUndefined();
    // The sync used the whole limit of its last second.
    await simulation.pass(secondMs);
  }
  mirror = openMirror(url, {
    keys: [classic, unified],
    now: () => house.unified.time.now(),
  });
}, 120_000);

afterAll(async () => {
  await mirror[Symbol.asyncDispose]();
  for (const simulation of Object.values(house)) await simulation[Symbol.asyncDispose]();
});

/** The same request, sent to the sandbox exchange. */
async function askSandbox({ answer, account }: Sandbox, now: number, path: string, query: Query) {
  const { status, body } = await answer({
    ...{ method: "GET", path, query, clientAddress: String(Math.random()) },
    headers: signedHeaders(account, String(Math.floor(now)), path, query),
  });
  return { status, body };
}

type Rows = readonly Readonly<Record<string, unknown>>[];
type Page = { readonly rows: Rows; readonly end: unknown };

/** A page letter for letter, except that the order of a row's members does not count, and "" means none. */
function pageOf(text: string): Page {
  const { data } = parseExactJson(text) as { data: Readonly<Record<string, unknown>> };
  const rows = (data["bills"] ?? data["list"]) as Rows;
  return { rows, end: data["endId"] ?? data["cursor"] };
}

const spelled = (rows: Rows): readonly string[] =>
  rows.map((row) =>
    sortedJson(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== ""))),
  );

// Slower than the exchange's limit.
const pauseMs = 250;

describe("a page of the mirror is the exchange's, letter for letter", () => {
  const drawn = fc.record({
    agoMs: fc.noBias(fc.integer({ min: hourMs, max: 88 * dayMs })),
    lengthMs: fc.noBias(fc.integer({ min: 0, max: 6.9 * dayMs })),
    limit: fc.integer({ min: 1, max: 100 }),
    pages: fc.integer({ min: 1, max: 4 }),
    typeIndex: fc.nat({ max: 5 }),
    only: fc.constantFrom<Query>(
      {},
      {},
      {},
      { businessType: "contract_settle_fee" },
      { onlyFunding: "yes" },
      { businessType: "trans_from_exchange", coin: "USDT" },
    ),
    isLowerCase: fc.boolean(),
  });

  test("of a classic account", async () => {
    let rows = 0;
    await fc.assert(
      fc.asyncProperty(drawn, async ({ typeIndex, isLowerCase, only, ...span }) => {
        const type = classicProductTypes[typeIndex] ?? "USDT-FUTURES";
        const productType = isLowerCase ? type.toLowerCase() : type;
        rows += await comparePages("classic", { productType, ...only }, span, accountBills.path);
      }),
      { numRuns: 50, seed: 16 },
    );
    expect(rows).toBeGreaterThan(400);
  });

  test("of a unified account", async () => {
    let rows = 0;
    await fc.assert(
      fc.asyncProperty(drawn, async ({ typeIndex, only: _, ...drawnSpan }) => {
        // A unified account's ids do not rise with its times, so the sandbox's cursor serves some rows
        // twice.
        const span = { ...drawnSpan, pages: 1 };
        const category = (unifiedProductTypes[typeIndex] ?? "UTA-SPOT").slice("UTA-".length);
        rows += await comparePages("unified", { category }, span, financialRecords.path);
      }),
      { numRuns: 50, seed: 17 },
    );
    expect(rows).toBeGreaterThan(400);
  });

  /** Walks down a span page by page, in both. */
  async function comparePages(
    name: "classic" | "unified",
    what: Query,
    span: { agoMs: number; lengthMs: number; limit: number; pages: number },
    path: string,
  ): Promise<number> {
    const { sandbox, time } = house[name];
    const startTime = Math.floor(time.now() - span.agoMs);
    const read = Math.floor(time.now()) - 20 * minuteMs;
    const endTime = Math.min(startTime + span.lengthMs, read);
    let cursor: Query = {};
    let compared = 0;
    for (let page = 0; page < span.pages; page++) {
      const query: Query = {
        ...what,
        startTime: String(startTime),
        endTime: String(endTime),
        limit: String(span.limit),
        ...cursor,
      };
      await time.run(time.clock.sleep(pauseMs));
      const expected = await askSandbox(sandbox, time.now(), path, query);
      const given = await mirror.ask(name === "classic" ? classic : unified, path, query);
      expect([given.status, given.body.msg]).toEqual([200, "success"]);
      expect(expected.status).toBe(200);
      const [ours, theirs] = [pageOf(given.text), pageOf(expected.body)];
      expect(spelled(ours.rows)).toEqual(spelled(theirs.rows));
      expect(ours.end).toEqual(theirs.end);
      compared += ours.rows.length;
      if (typeof ours.end !== "string" || ours.end === "") break;
      cursor = path === accountBills.path ? { idLessThan: ours.end } : { cursor: ours.end };
    }
    return compared;
  }
});

test("a walk by cursor reads each record of a unified account once, whichever way its ids go", async () => {
  const { sandbox, time } = house.unified;
  const startTime = Math.floor(time.now()) - 60 * dayMs;
  const endTime = Math.floor(time.now()) - 20 * minuteMs;
  const read: Rows[number][] = [];
  let cursor: string | undefined;
  do {
    const { text } = await mirror.ask(unified, financialRecords.path, {
      category: "USDT-FUTURES",
      startTime: String(startTime),
      endTime: String(endTime),
      limit: "40",
      ...(cursor !== undefined && { cursor }),
    });
    const { rows, end } = pageOf(text);
    read.push(...rows);
    cursor = typeof end === "string" && end !== "" ? end : undefined;
  } while (cursor !== undefined);
  const served = sandbox.account.ledger.bills["UTA-USDT-FUTURES"]
    .filter(({ cTime }) => cTime >= startTime && cTime <= endTime)
    .map(({ row }) => row);
  expect(served.length).toBeGreaterThan(200);
  expect(spelled(read).toSorted()).toEqual(spelled(served as Rows).toSorted());
});
