import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { readLoanToValue } from "../src/contract/loan-to-value.ts";
import { dayMs, epochMs, isoTime, minuteMs } from "../src/contract/time.ts";
import { inTransaction } from "../src/db/connect.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { writePage } from "../src/page/page.ts";
import { integer, type Random, seededRandom } from "../src/sandbox/random.ts";
import { makeLoanToValue } from "../src/sandbox/records.ts";
import { fileDatabase } from "./support/database.ts";
import { exact, places } from "./support/exact.ts";
import { type Cell, tablesIn } from "./support/page-figures.ts";
import { storeAccount } from "./support/page-states.ts";

// Every figure of loans against the sandbox's records as they were made: in integers of the last place,
// from the order in which they were served, without a word of SQL and of the page's own sums.

const { tables } = await fileDatabase();
const { db } = tables;
const account = "fund";

type Served = {
  readonly ltv: string;
  readonly usdtBalance: string;
  readonly unpaidUsdtAmount: string;
  readonly unpaidInfo: readonly Readonly<Record<"coin" | "unpaidQty" | "unpaidInterest", string>>[];
  readonly balanceInfo: readonly Readonly<
    Record<"coin" | "price" | "amount" | "convertedUsdtAmount", string>
  >[];
};

/** A record, and from when to when it was served without another between. */
type Kept = { readonly served: Served; readonly from: number; to: number };

const today = Math.floor(Date.now() / dayMs) * dayMs;
const firstDay = today - 30 * dayMs;

/** What a risk unit was served as over a month: some days with several records, some with none. */
function servings(random: Random): readonly Kept[] {
  const kept: Kept[] = [];
  let time = firstDay + integer(random, 0, dayMs);
  while (time < today - dayMs) {
    const last = kept.at(-1);
    if (last !== undefined && random() < 0.3) last.to = time;
    else kept.push({ served: makeLoanToValue(random, ["1"]) as Served, from: time, to: time });
    time += integer(random, minuteMs, random() < 0.2 ? 5 * dayMs : 14 * 60 * minuteMs);
  }
  return kept;
}

/** In the order of the page. */
const units: ReadonlyMap<string, readonly Kept[]> = new Map([
  ["", servings(seededRandom("loans of its own"))],
  ["4513", servings(seededRandom("loans of a unit"))],
]);

beforeAll(async () => {
  await storeAccount(db, { account, density: 0.02 });
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    values (${account}, 'test', 1, clock_timestamp() + interval '1 hour')`);
  const store = openStore(db, { account, epoch: 1 }, randomUUID());
  for (const [riskUnitId, kept] of units) {
    for (const { served, from, to } of kept) {
      const reading = readLoanToValue(served);
      if ("fault" in reading) throw new Error(reading.fault.reason);
      const { record } = reading;
      for (const time of new Set([from, to])) {
        const takenAt = epochMs(time);
        await store.commitLoanToValue({
          account,
          riskUnitId: riskUnitId === "" ? undefined : riskUnitId,
          takenAt,
          record,
        });
      }
    }
  }
});

const dayOf = (time: number) => isoTime(epochMs(time)).slice(0, 10);

async function loans(from: number, to: number): Promise<string> {
  const query = new URLSearchParams({ account, from: dayOf(from), to: dayOf(to) });
  const parts: string[] = [];
  await inTransaction(db, (tx) =>
    writePage(tx, { query, settleLagMs: 600_000 }, ({ text }) => parts.push(text)),
  );
  return /<section[^>]* id="loan-to-value"[\s\S]*?<\/section>/.exec(parts.join(""))?.[0] ?? "";
}

/** Undefined where the exchange served none. */
const shown = ({ value, text }: Cell): bigint | undefined =>
  text === "no price served" ? undefined : exact(value ?? text.replaceAll(",", ""));

const highest = (values: readonly bigint[]): bigint | undefined =>
  values.toSorted((a, b) => (a < b ? 1 : -1))[0];

/** By day, the newest first; a day of which no record speaks has none. */
function ratiosOf(kept: readonly Kept[], from: number, to: number) {
  const days = Array.from({ length: (to - from) / dayMs + 1 }, (_, index) => from + index * dayMs);
  const ratios = days.map((day) => {
    const during = kept.filter((one) => one.from < day + dayMs && one.to >= day);
    return [dayOf(day), highest(during.map(({ served }) => exact(served.ltv)))] as const;
  });
  const first = ratios.findIndex(([, ratio]) => ratio !== undefined);
  const last = ratios.findLastIndex(([, ratio]) => ratio !== undefined);
  return ratios.slice(first, last + 1).toReversed();
}

const one = 10n ** BigInt(places);

/** A share to six places, halves away from zero. */
function haircutOf(price: bigint, amount: bigint, converted: bigint): bigint {
  const worth = price * amount;
  const part = (worth - converted * one) * 2n * 10n ** 6n;
  const rounded = (part + (part < 0n ? -worth : worth)) / (2n * worth);
  return rounded * 10n ** BigInt(places - 6);
}

/**
 * Amount, price, haircut, what it counts for, debt, interest and what is owed of each coin, the largest
 * asset first; then what is left for coins without a price, and what the exchange adds up.
 */
function coinsOf({ balanceInfo, unpaidInfo, usdtBalance, unpaidUsdtAmount }: Served) {
  const names = [...new Set([...balanceInfo, ...unpaidInfo].map(({ coin }) => coin))];
  const rows = names.map((name) => {
    const owned = balanceInfo.find(({ coin }) => coin === name);
    const owed = unpaidInfo.find(({ coin }) => coin === name);
    const [amount, price, converted] = [
      exact(owned?.amount ?? "0"),
      exact(owned?.price ?? "0"),
      exact(owned?.convertedUsdtAmount ?? "0"),
    ];
    const haircut = owned === undefined ? 0n : haircutOf(price, amount, converted);
    const debt = [exact(owed?.unpaidQty ?? "0"), exact(owed?.unpaidInterest ?? "0")] as const;
    const isUnpriced = owned === undefined;
    const value = ((debt[0] + debt[1]) * price) / one;
    return {
      name,
      isOwned: !isUnpriced,
      converted,
      figures: isUnpriced
        ? [amount, undefined, haircut, converted, ...debt, undefined]
        : [amount, price, haircut, converted, ...debt, value],
    };
  });
  const total = (figures: readonly (bigint | undefined)[]) =>
    figures.reduce<bigint>((sum, figure) => sum + (figure ?? 0n), 0n);
  const [assets, debts] = [exact(usdtBalance), exact(unpaidUsdtAmount)];
  const counted = assets - total(rows.map(({ converted }) => converted));
  const left = debts - total(rows.map(({ figures }) => figures.at(-1)));
  const sums = (ofAssets: bigint, ofDebts: bigint) => [0n, 0n, 0n, ofAssets, 0n, 0n, ofDebts];
  const unpriced = rows.filter(({ isOwned }) => !isOwned).map(({ name }) => name);
  expect(unpriced).toEqual(["USDC"]);
  const byCoin = rows
    .toSorted((a, b) =>
      a.isOwned === b.isOwned
        ? Number(b.converted > a.converted) * 2 - 1
        : Number(b.isOwned) - Number(a.isOwned),
    )
    .map(({ name, figures }) => [name, figures] as const);
  return [
    ...byCoin,
    ["Left for USDC", sums(counted, left)],
    ["As the exchange adds up", sums(assets, debts)],
  ];
}

describe.each([
  ["the month", firstDay, today],
  ["some days of it", firstDay + 7 * dayMs, firstDay + 19 * dayMs],
])("in %s", (_, from, to) => {
  test("each figure of loans is that of the records as they were served", async () => {
    const markup = await loans(from, to);
    const parts = markup.split(/<h3>Risk unit \d+<\/h3>/);
    expect(parts).toHaveLength(2);
    for (const [index, kept] of [...units.values()].entries()) {
      const part = parts[index] ?? "";
      const newest = kept.at(-1);
      if (newest === undefined) throw new Error("no records");
      const { served } = newest;
      const [, facts = ""] = /<p class="facts">([\s\S]*?)<\/p>/.exec(part) ?? [];
      const values = [...facts.matchAll(/<data [^>]*value="([^"]*)"/g)];
      expect(values.map(([, value = ""]) => exact(value))).toEqual(
        [served.ltv, served.unpaidUsdtAmount, served.usdtBalance].map(exact),
      );
      const times = [...facts.matchAll(/datetime="([^"]*)"/g)].map(([, time]) => time);
      expect(times).toEqual([newest.from, newest.to].map((time) => isoTime(epochMs(time))));
      const [ratios, coins] = tablesIn(`<section id="part">${part}</section>`, "part");
      expect(
        ratios?.rows.map(({ name, cells: [cell] }) => [
          name,
          cell === undefined || cell.text === "unknown" ? undefined : shown(cell),
        ]),
      ).toEqual(ratiosOf(kept, from, to));
      const all = [...(coins?.rows ?? []), ...(coins?.total === undefined ? [] : [coins.total])];
      expect(all.map(({ name, cells }) => [name, cells.map(shown)])).toEqual(coinsOf(served));
    }
  });
});
