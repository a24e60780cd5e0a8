// A session's DateStyle and time zone change no time (sessions that misread what they print).

import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { readSymbol } from "../src/contract/symbols.ts";
import { epochMs } from "../src/contract/time.ts";
import { inTransaction, openDatabase } from "../src/db/connect.ts";
import { commitSymbols } from "../src/db/reference/stored-symbols.ts";
import { replayBatch } from "../src/ledger/replay-rows.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { readList } from "../src/sync/settings-lists.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { holdStream } from "./support/held-store.ts";

const { database, tables } = await fileDatabase();

/** Both of these were 01:30 in Moscow, and print alike there: "26/10/2014 01:30:00 MSK". */
const [first, between, second] = [
  "2014-10-25T21:30:00.006Z",
  "2014-10-25T22:00:00.006Z",
  "2014-10-25T22:30:00.006Z",
];

/** A database's sessions in which a time, cast to text and back, becomes another time. */
function openInMoscow() {
  const url = new URL(database.url);
  url.searchParams.set("options", "-c timezone=Europe/Moscow -c datestyle=SQL,DMY");
  return openDatabase(url.href);
}

const setStored = (account: string, at: string) =>
  tables.db.execute(sql`update bills set ingested_at = ${at} where account = ${account}`);

test("these sessions cannot read back what they print", async () => {
  await using moscow = openInMoscow();
  const { rows } = await moscow.db.execute(sql`
    select ${first}::timestamptz::text::timestamptz = ${second} as "isMistaken"`);
  expect(rows).toEqual([{ isMistaken: true }]);
});

test("a replay knows what came later, whatever the session makes of times", async () => {
  await using moscow = openInMoscow();
  const { stream } = await holdStream(moscow.db);
  const { account, productType } = stream;
  await inTransaction(moscow.db, (tx) => upsertBills(tx, [{ stream, bills: [aBill()] }]));
  await setStored(account, between);
  const received = JSON.stringify({ ...aBill({ amount: "13" }), cTime: "1", extra: undefined });
  const digest = createHash("sha256").update(received).digest("hex");
  await tables.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, fault_path, fault, rejected_at
    )
    values (${account}, ${productType}, ${digest}, ${received}, '', '', ${first})`);
  const replayed = await replayBatch(moscow.db, { account, epoch: 1 }, stream, undefined);
  expect(replayed).toMatchObject({ restated: 0, outdated: 1, left: [] });
});

test("a pair whose time changes has changed, whatever the session makes of times", async () => {
  await using moscow = openInMoscow();
  const bring = (openTime: string) => {
    const row = { symbol: "BTCUSDT", baseCoin: "BTC", openTime: String(Date.parse(openTime)) };
    const list = readList([row], readSymbol).list;
    return commitSymbols(moscow.db, { readAt: epochMs(Date.parse(openTime)), ...list });
  };
  expect(await bring(first)).toMatchObject({ new: 1 });
  expect(await bring(second)).toMatchObject({ changed: 1 });
});
