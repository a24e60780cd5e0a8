// Holds: No answer over a hole
// No answer of the mirror ends silently at unread time, or skips it, whatever was read and whatever is
// requested (properties, against the whole ledger).

import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import type { Bill } from "../src/core/contract/bill.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { dayMs, epochMs, hourMs, isoTime } from "../src/lib/time.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, openMirror } from "./support/mirror.ts";
import { storeOpen, storeTime } from "./support/stored-ledger.ts";

const start = Date.UTC(2026, 0, 1);
const at = (days: number) => epochMs(start + days * dayMs);
/** The present, 90 days after the oldest time that was ever to be read, and the day from which the next sync would read. */
const [now, readTo] = [at(100), at(99)];

const account = "main";
const keys = {
  refuse: aMirrorKey(account),
  trim: aMirrorKey(account, { incomplete: "trim" }),
  allow: aMirrorKey(account, { incomplete: "allow" }),
};
const ledger = { account, productType: "USDT-FUTURES" } as const;

const { db, url } = await fileDatabase();
const mirror = openMirror(url, {
  ...{ keys: Object.values(keys), now: () => now, maxAgeMs: 3 * dayMs },
});
afterAll(() => mirror[Symbol.asyncDispose]());

type Window = {
  readonly state: "covered" | "lost" | "open";
  readonly from: number;
  readonly to: number;
  readonly cursor?: string;
};

/** A bill every few hours, some of them in one millisecond. */
const served: readonly Bill[] = Array.from({ length: 1_000 }, (_, index) => {
  const cTime = epochMs(start + Math.floor(index / 3) * 7.2 * hourMs);
  // Within three bills of one millisecond, the ids get one digit more.
  const billId = String(9_501 + index);
  return aBill({ billId, cTime, amount: `${index}.50`, coin: index % 7 === 0 ? "BTC" : "USDT" });
}).filter(({ cTime }) => cTime < now);

/** Records which windows were read, and stores their bills. */
async function given(windows: readonly Window[]): Promise<void> {
  const isRead = ({ cTime, billId }: Bill) =>
    windows.some(
      ({ state, from, to, cursor }) =>
        cTime >= from &&
        cTime < to &&
        (state === "covered" ||
          (state === "open" && cursor !== undefined && Number(billId) >= Number(cursor))),
    );
  await inTransaction(db, async (tx) => {
    await tx.execute(sql`delete from bills`);
    await tx.execute(sql`delete from windows`);
    await tx.execute(sql`delete from ledgers`);
    await upsertBills(tx, [{ ledger, bills: served.filter(isRead) }]);
    for (const { state, from, to, cursor = null } of windows) {
      const startedAt = cursor === null ? null : isoTime(epochMs(to));
      const span = { from: epochMs(from), to: epochMs(to) };
      if (state === "open") await storeOpen(tx, ledger, span, { cursor, startedAt });
      else await storeTime(tx, ledger, { [state]: [span] });
    }
  });
}

const ask = (incomplete: keyof typeof keys, query: Readonly<Record<string, string>>) =>
  mirror.ask(keys[incomplete], accountBills.path, { productType: "USDT-FUTURES", ...query });

const idsOf = (data: unknown): readonly string[] =>
  (data as { bills: readonly { billId: string }[] }).bills.map(({ billId }) => billId);

const window = (from: number, to: number, state: Window["state"] = "covered"): Window => ({
  state,
  from: at(from),
  to: at(to),
});

const spanOf = (from: number, to: number) => ({
  startTime: String(at(from)),
  endTime: String(at(to)),
});

test("time before the first coverage is refused for good, with where to begin; a key may trim it", async () => {
  await given([window(10, 99)]);
  const refused = await ask("refuse", spanOf(5, 20));
  expect([refused.status, refused.body.code]).toEqual([400, "40704"]);
  expect(refused.body.msg).toContain(`ask for startTime=${at(10)} or later`);
  const from10 = await ask("refuse", spanOf(10, 20));
  expect(from10.status).toBe(200);
  for (const incomplete of ["trim", "allow"] as const)
    expect((await ask(incomplete, spanOf(5, 20))).body.data).toEqual(from10.body.data);
  expect((await ask("trim", spanOf(1, 5))).body.data).toEqual({ bills: [], endId: "" });
});

test("time that is lost is refused for good, also to a key that trims, and named in the headers", async () => {
  await given([window(10, 40), window(40, 50, "lost"), window(50, 99)]);
  for (const incomplete of ["refuse", "trim"] as const) {
    const refused = await ask(incomplete, spanOf(45, 60));
    expect([refused.status, refused.body.code]).toEqual([400, "40704"]);
    expect(refused.body.msg).toContain(`${isoTime(at(45))} to ${isoTime(at(50))} was lost`);
  }
  expect((await ask("allow", spanOf(45, 60))).status).toBe(200);
  expect(await ask("refuse", spanOf(50, 60))).toMatchObject({
    status: 200,
    headers: {
      "x-read-from": isoTime(at(10)),
      "x-read-through": isoTime(at(99)),
      "x-incomplete": `${isoTime(at(40))}/${isoTime(at(50))}`,
    },
  });
});

test("lost time that was accepted refuses nobody, and is named in the headers", async () => {
  await given([window(10, 40), window(40, 50, "lost"), window(50, 99)]);
  const [from, length] = [isoTime(at(40)), at(50) - at(40)];
  await db.execute(sql`
    insert into ledger_breaks (
      break_id, kind, account, ledger, coin, anchor, happened_at, difference, explanation, first_seen_at,
      last_seen_at, state
    )
    values (1, 'lost', ${account}, 'USDT-FUTURES', '', ${from}, ${from}, ${length}, '', now(), now(), 'accepted')`);
  expect(await ask("refuse", spanOf(30, 60))).toMatchObject({
    status: 200,
    headers: { "x-incomplete": `${from}/${isoTime(at(50))}` },
  });
  await db.execute(sql`delete from ledger_breaks`);
});

test("time under the first pages of a sync that is at work is refused, and what lies apart is not", async () => {
  const cursor = served.find(({ cTime }) => cTime >= at(98.5))?.billId ?? "";
  await given([window(10, 97), { ...window(97, 100, "open"), cursor }]);
  expect((await ask("refuse", { limit: "5" })).status).toBe(200);
  expect(await ask("refuse", { limit: "50" })).toMatchObject({
    status: 503,
    body: { code: "40725" },
  });
  expect((await ask("refuse", spanOf(50, 96))).status).toBe(200);
});

const day = fc.integer({ min: 0, max: 99 });
const state = fc.constantFrom<Window["state"]>("covered", "covered", "covered", "lost", "open");
/** Adjacent windows, as runs leave them. The newest one ends up to a day ago. */
const windows = fc
  .tuple(
    fc.uniqueArray(day, { minLength: 1, maxLength: 6 }),
    fc.array(state, { minLength: 6, maxLength: 6 }),
  )
  .map(([edges, states]) => {
    const sorted = [...edges.toSorted((a, b) => a - b), 99];
    return sorted.slice(1).flatMap((to, index) => {
      const from = sorted[index] ?? to;
      return from < to ? [{ ...window(from, to), state: states[index] ?? "covered" }] : [];
    });
  });
const question = fc.record({
  from: fc.option(day),
  to: fc.option(day),
  limit: fc.integer({ min: 1, max: 400 }),
  coin: fc.constantFrom(undefined, "BTC"),
  pages: fc.integer({ min: 1, max: 4 }),
});

test("whatever was read and whatever is asked, each page is all there is, or a refusal", async () => {
  const seen = { served: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      windows,
      fc.array(question, { minLength: 6, maxLength: 6 }),
      async (read, questions) => {
        await given(read);
        const begin = Math.min(
          ...read.filter(({ state }) => state !== "open").map(({ from }) => from),
        );
        for (const { from, to, limit, coin, pages } of questions) {
          if (from !== null && to !== null && from > to) continue;
          let idLessThan: string | undefined;
          for (let page = 0; page < pages; page++) {
            const answer = await ask("refuse", {
              ...(from !== null && { startTime: String(at(from)) }),
              ...(to !== null && { endTime: String(at(to)) }),
              ...(coin !== undefined && { coin }),
              ...(idLessThan !== undefined && { idLessThan }),
              limit: String(limit),
            });
            if (answer.status !== 200) {
              expect(answer.body.code).toMatch(/^(40704|40725)$/);
              seen.refused++;
              break;
            }
            seen.served++;
            // Nothing newer than the read time is stored, and nothing is claimed about it.
            const expected = served
              .filter(
                ({ cTime, coin: of, billId }) =>
                  cTime < readTo &&
                  cTime >= (from === null ? begin : at(from)) &&
                  (to === null || cTime <= at(to)) &&
                  (coin === undefined || of === coin) &&
                  (idLessThan === undefined || Number(billId) < Number(idLessThan)),
              )
              .map(({ billId }) => billId)
              .toReversed()
              .slice(0, limit);
            expect(idsOf(answer.body.data)).toEqual(expected);
            idLessThan = expected.at(-1);
            if (idLessThan === undefined) break;
          }
        }
      },
    ),
    { numRuns: 60, seed: 16 },
  );
  expect(seen.served).toBeGreaterThan(100);
  expect(seen.refused).toBeGreaterThan(100);
});
