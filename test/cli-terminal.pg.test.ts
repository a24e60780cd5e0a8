import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { give, serve } from "./support/exchange-client.ts";
import { storeTime } from "./support/stored-time.ts";

/**
 * Clears the screen and sets a title, with two spellings of an escape, and reverses the direction of the
 * text that follows.
 */
const hostile = "\u001b[2J\u009b31m\u001b]0;owned\u0007\u202e\r\nall: complete";
const acting = /[\p{Cc}\p{Cf}]/u;

test("whatever an exchange and the tables say, no command prints what a terminal acts on", async () => {
  await using database = await testDatabase();
  await using open = openDatabase(database.url);
  const answer = (data: unknown) => ({
    body: { code: "00000", msg: "success", requestTime: Date.now(), data },
  });
  const coin = { coin: hostile };
  const bill = { billId: "1", symbol: hostile };
  await using exchange = await serve((response, { url = "" }) => {
    if (url.includes("/public/symbols")) {
      give(response, answer([{ symbol: hostile, takerFeeRate: hostile }, { [hostile]: "\0" }]));
    } else if (url.includes("ltv-convert")) {
      give(response, answer({ unpaidInfo: [coin, coin] }));
    } else if (url.includes("USDT-FUTURES")) {
      give(response, answer({ bills: [bill], endId: `2${hostile}` }));
    } else {
      give(response, { status: 400, body: { code: hostile, msg: hostile } });
    }
  });
  const account = { apiKey: "a-key", apiSecret: "a-secret", apiPassphrase: "a-passphrase" };
  const env = environmentFor({ url: exchange.url, account } as never, database, {
    PRODUCT_TYPES: "USDT-FUTURES,COIN-FUTURES",
    SYNC_LTV: "true",
    LOG_LEVEL: "trace",
  });
  const ends = [];
  ends.push(await runCli(["sync"], { env: { ...env, PRODUCT_TYPES: "USDT-FUTURES" } }));
  ends.push(await runCli(["sync", "--json"], { env }));
  const lost = [{ from: "2026-01-01Z", to: "2026-01-02Z" }];
  await storeTime(open.db, { account: hostile, productType: hostile }, { lost });
  await open.db.execute(sql`
    insert into ltv_snapshots (account, risk_unit_id, taken_at, held_until)
    values (${hostile}, ${hostile}, now(), now())`);
  await open.db.execute(sql`update sync_runs set command = ${hostile}, error = ${hostile}`);
  for (const args of [["status"], ["status", "--json"]]) ends.push(await runCli(args, { env }));
  ends.push(await runCli(["doctor"], { env: { ...env, PRODUCT_TYPES: "COIN-FUTURES" } }));
  const printed = ends.map(({ stdout, stderr }) => stdout + stderr);
  for (const text of printed) {
    expect(text).toMatch(/all: complete|31m/);
    expect(text.replaceAll("\n", "")).not.toMatch(acting);
  }
  const [first = ""] = printed;
  expect(first).toMatch(
    /^symbols: \\u\{1b\}\[2J\\u\{9b\}31m.*\\nall: complete and 1 more were not stored/m,
  );
  expect(first).toMatch(/names \\u\{1b\}\[2J.* twice$/m);
}, 180_000);
