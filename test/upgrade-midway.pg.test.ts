import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import {
  classicProductTypes,
  isDemoProductType,
  productTypes,
} from "../src/contract/product-types.ts";
import { dayMs, historyMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { Refusal } from "../src/exchange-server/source.ts";
import { readStatus } from "../src/health/ledger-status.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import type { ModeChange } from "../src/sandbox/ledger.ts";
import { integer, seededRandom } from "../src/sandbox/random.ts";
import type { ClosedStream } from "../src/sync/account-mode.ts";
import { productTypesOf } from "../src/sync/account-state.ts";
import { isComplete } from "../src/sync/run.ts";
import type { Store } from "../src/sync/store.ts";
import { testDatabase } from "./support/database.ts";
import { type SimulationOptions, simulate, simulationStart } from "./support/simulation.ts";

const delisted = classicProductTypes.filter(isDemoProductType);
const live = productTypesOf("classic").filter((productType) => !isDemoProductType(productType));
const refusal = new Refusal(400, "400172", "Parameter verification failed productType");

/** A simulated exchange with a classic account that is upgraded after ten days. */
async function house(options: Partial<SimulationOptions>) {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  const simulation = stack.use(
    simulate(url, {
      ...{ seed: 1, name: "main", density: 0.05, productTypes, readsAll: true },
      alterCredential: (credential) => ({
        ...credential,
        refused: new Map(delisted.map((productType) => [productType, refusal])),
      }),
      modes: [
        { at: Number.NEGATIVE_INFINITY, mode: "classic" },
        { at: upgradedAt, mode: "unified" },
      ],
      ...options,
    }),
  );
  return { ...simulation, db, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

type House = Awaited<ReturnType<typeof house>>;

const upgradedAt = simulationStart + 10 * dayMs;

/**
 * What was read of each closed stream and what is told as not read are side by side all its time, and
 * every bill of the first is stored. `status` tells the same.
 * @returns how many periods were read.
 */
async function expectAllTold(at: House, closed: readonly ClosedStream[]): Promise<number> {
  let read = 0;
  for (const { stream, closedAt, unread } of closed) {
    const { account, productType } = stream;
    const { rows } = await at.db.execute<{ from: string; to: string }>(sql`
      select
        extract(epoch from lower(part)) * 1000 as from,
        extract(epoch from upper(part)) * 1000 as to
      from (
        select unnest(covered) as part
        from streams
        where product_type = ${productType}
      ) as parts
      order by 1`);
    read += rows.length;
    // Read and unread time together are all the time since 90 days before one of the two runs.
    const all = [...rows.map((row) => ({ from: Number(row.from), to: Number(row.to) })), ...unread];
    all.sort((a, b) => a.from - b.from);
    expect(all.slice(1).map(({ from }) => from)).toEqual(all.slice(0, -1).map(({ to }) => to));
    const [first] = all;
    expect(all.at(-1)?.to).toBe(closedAt);
    const start = Number(first?.from) + historyMs;
    const began = [simulationStart, closedAt].map((time) => Math.abs(start - time));
    expect(Math.min(...began)).toBeLessThan(minuteMs);
    const stored = await readStoredBills(at.db, { account, productType });
    const ids = new Set(stored.map(({ billId }) => billId));
    const unstored = at.sandbox.account.ledger.bills[productType].filter(
      ({ billId, cTime }) =>
        cTime >= Number(first?.from) && cTime < Math.min(upgradedAt, closedAt) && !ids.has(billId),
    );
    const isUnread = (time: number) => unread.some(({ from, to }) => from <= time && time < to);
    expect(unstored.filter(({ cTime }) => !isUnread(cTime))).toEqual([]);
  }
  const { streams } = await readStatus(
    at.db,
    closed.map(({ stream }) => stream),
    10 * minuteMs,
  );
  expect(streams.map(({ closedAt, unread }) => ({ closedAt, unread }))).toEqual(
    closed.map(({ closedAt, unread }) => ({ closedAt, unread })),
  );
  return read;
}

describe("a first sync that is interrupted before the account becomes unified", () => {
  const isPlan = "recordPlan";
  const isPage = "commitPage";
  test.each([
    ["when two of the product types are planned", isPlan, 2],
    ["among its pages", isPage, 60],
  ] as const)(
    "%s: what is closed says of all 90 days what was read, and what was not",
    async (_title, name, after) => {
      let left = after;
      let isKilled = true;
      /** From the given commit on, every commit fails, so the run leaves nothing behind after it. */
      const killing = (store: Store): Store => {
        const killed = async <Result>(commit: () => Promise<Result>, counts: boolean) => {
          if (isKilled && ((counts && left-- <= 0) || left < 0)) throw new Error("killed");
          return commit();
        };
        return {
          ...store,
          recordPlan: (plan) => killed(() => store.recordPlan(plan), name === isPlan),
          commitPage: (page) => killed(() => store.commitPage(page), name === isPage),
        };
      };
      await using at = await house({ wrapStore: killing });
      await at.sync();
      isKilled = false;
      await at.pass(11 * dayMs);
      const report = await at.sync();
      const { closed = [] } = report;
      // What was refused to the key is not among them.
      const types = closed.map(({ stream }) => stream.productType);
      expect(types.toSorted()).toEqual(live.toSorted());
      expect(isComplete(report)).toBe(false);
      const read = await expectAllTold(at, closed);
      expect(read > 0).toBe(name === isPage && after > 0);
      const again = await at.sync();
      expect([again.closed, isComplete(again)]).toEqual([[], true]);
    },
  );
});

describe("an upgrade in the middle of a run", () => {
  test.each([
    ["of the first sync", 0, 4.5],
    ["of a later sync", 3 * dayMs, 0.6],
  ])(
    "%s: all that was served is kept, and what is closed says what was not",
    async (_title, laterMs, afterSeconds) => {
      const random = seededRandom("upgrade in mid-run");
      const changes: ModeChange[] = [{ at: Number.NEGATIVE_INFINITY, mode: "classic" }];
      const served = new Set<string>();
      let hasChanged = false;
      await using at = await house({
        modes: changes,
        latencyMs: () => integer(random, 20, 400),
        wrapAnswer: (answer) => async (request) => {
          const given = await answer(request);
          const { code, data } = JSON.parse(given.body);
          if (code === "40085") hasChanged = true;
          // A request that only asks whether bills are served at all has no times.
          const bills = request.query["startTime"] === undefined ? [] : (data?.bills ?? []);
          for (const { billId } of bills) {
            served.add(`${request.query["productType"]}/${billId}`);
          }
          return given;
        },
      });
      if (laterMs > 0) expect(isComplete(await at.sync())).toBe(true);
      await at.pass(laterMs);
      const upgradeAt = at.time.now() + afterSeconds * secondMs;
      changes.push(
        { at: upgradeAt, mode: "upgrading" },
        { at: upgradeAt + minuteMs, mode: "unified" },
      );
      const struck = await at.sync();
      expect([hasChanged, isComplete(struck), struck.closed ?? []]).toEqual([true, false, []]);
      const errors = [struck.error, ...struck.streams.map(({ error }) => error)];
      expect(errors.join("; ")).toMatch(/40085/);
      await at.pass(2 * minuteMs);
      const report = await at.sync();
      const { closed = [] } = report;
      expect([report.mode, report.error]).toEqual(["unified", undefined]);
      const types = closed.map(({ stream }) => stream.productType);
      // Product types that would be refused are among them if the key was not refused them yet.
      expect(types).toEqual(expect.arrayContaining(live));
      await expectAllTold(at, closed);
      const stored = new Set<string>();
      for (const productType of live) {
        const bills = await readStoredBills(at.db, { account: "main", productType });
        for (const { billId } of bills) stored.add(`${productType}/${billId}`);
      }
      expect([...served].filter((bill) => !stored.has(bill))).toEqual([]);
      expect(served.size > 10).toBe(laterMs > 0 || afterSeconds > 1);
      const again = await at.sync();
      expect([again.closed, isComplete(again)]).toEqual([[], true]);
    },
  );
});
