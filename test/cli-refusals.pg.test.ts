import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { classicProductTypes } from "../src/contract/product-types.ts";
import { dayMs, minuteMs } from "../src/contract/time.ts";
import type { Database } from "../src/db/connect.ts";
import type { Answer } from "../src/exchange-server/api.ts";
import type { Credential } from "../src/exchange-server/source.ts";
import type { SandboxOptions } from "../src/sandbox/sandbox.ts";
import type { Fault } from "./faults/kinds.ts";
import { withFaults, withRefusedProducts } from "./faults/network.ts";
import type { CliEnvironment } from "./support/cli.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

async function house(options: Partial<SandboxOptions>, others: CliEnvironment = {}) {
  const at = await openHouse({ seed: "refusals", ...options }, others);
  return { ...at, requests: () => at.sandbox.statistics().arrivals[accountBills.name] };
}

const coverageOf = async (db: Database, productType: string) => {
  const { rows } = await db.execute<{ coverage: string | null }>(sql`
    select max(nullif(covered, '{}')::text) as coverage
    from streams
    where product_type = ${productType}`);
  return rows[0]?.coverage;
};

const altered = (changes: Partial<Credential>): Partial<SandboxOptions> => ({
  alterCredential: (credential) => ({ ...credential, ...changes }),
});

describe.concurrent("credentials that are refused are refused once, and told apart", () => {
  const allTypes = { PRODUCT_TYPES: "" };
  const refused: readonly [string, Partial<SandboxOptions>, CliEnvironment, RegExp][] = [
    [
      "a wrong key",
      {},
      { EXCHANGE_API_KEY: "other" },
      /40037: .* there is no such API key; check EXCHANGE_API_KEY, or its apiKey in ACCOUNTS_FILE$/,
    ],
    [
      "a wrong secret",
      {},
      { EXCHANGE_API_SECRET: "other" },
      /40009: .* the signature is wrong; check EXCHANGE_API_SECRET, or its apiSecret in ACCOUNTS_FILE$/,
    ],
    [
      "a wrong passphrase",
      {},
      { EXCHANGE_API_PASSPHRASE: "other" },
      /40036: .* the passphrase is wrong; check EXCHANGE_API_PASSPHRASE, or its apiPassphrase in ACCOUNTS_FILE$/,
    ],
  ];
  test.each(refused)("%s", async (_title, options, env, message) => {
    await using at = await house(options, { ...allTypes, ...env });
    const end = await at.run("sync", "--only", "bills");
    expect(end.code).toBe(1);
    const [line, last] = end.stdout.split("\n");
    expect(line).toMatch(/^main: the exchange refused \(/);
    expect(line).toMatch(message);
    expect(last).toMatch(/^FAILED, after /);
    expect(at.requests()).toBe(1);
    expect(JSON.parse(end.stderr.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      level: "error",
      outcome: "failed",
      error: expect.stringMatching(message),
    });
    const { rows } = await at.db.execute(
      sql`select outcome, error from sync_runs where command = 'sync'`,
    );
    expect(rows).toEqual([{ outcome: "failed", error: expect.stringMatching(message) }]);
    for (const name of ["EXCHANGE_API_KEY", "EXCHANGE_API_SECRET", "EXCHANGE_API_PASSPHRASE"]) {
      expect(end.stdout + end.stderr).not.toContain(at.env[name]);
    }
  });
});

test("an address that is banned in the middle of a sync asks nothing more, keeps what it has, and the run says what to do", async () => {
  let arrivals = 0;
  const served = new Set<string>();
  const ban = { status: 403, headers: {}, body: "<html><title>Access denied</title></html>" };
  await using at = await house(
    {
      wrapAnswer: (answer) => async (request) => {
        arrivals += 1;
        if (arrivals > 30) return ban;
        const given = await answer(request);
        for (const [id] of given.body.matchAll(/"billId":"\d+"/g)) served.add(id);
        return given;
      },
    },
    { PRODUCT_TYPES: "" },
  );
  const end = await at.run("sync");
  expect(end.code).toBe(1);
  // Ten requests were on their way when the first refusal arrived.
  expect(arrivals).toBeLessThanOrEqual(30 + accountBills.limit.requests);
  expect(end.stdout).toMatch(
    /HTTP 403 "<html>.*has banned this machine's address.*; wait at least/,
  );
  const { rows } = await at.db.execute(sql`select outcome from sync_runs where command = 'sync'`);
  expect(rows).toEqual([{ outcome: "incomplete" }]);
  const bills = await at.db.execute<{ stored: number }>(
    sql`select sum(bills)::integer as stored from streams`,
  );
  expect(served.size).toBeGreaterThan(100);
  expect(bills.rows[0]?.stored).toBeGreaterThan(served.size / 2);
});

describe.concurrent("a key without the right to something", () => {
  const without: readonly [string, Partial<SandboxOptions>, RegExp][] = [
    [
      "to read bills",
      altered({ permissions: [] }),
      /40014: .* the API key lacks a permission; give it the right to read futures, .* UTA management$/,
    ],
    [
      "to live products",
      altered({ environment: "demo" }),
      /40099: .* a demo key was used as a live one.*"demo": true in ACCOUNTS_FILE/,
    ],
  ];
  test.each(without)("%s is told so", async (_title, options, message) => {
    await using at = await house(options);
    const end = await at.run("sync", "--only", "bills");
    expect(end.code).toBe(1);
    const [, remark] = end.stdout.split("\n\n");
    expect(remark?.split("\n")).toEqual([
      expect.stringMatching(message),
      expect.stringMatching(/^NOT complete, after /),
      "",
    ]);
    expect(at.requests()).toBeLessThanOrEqual(13);
    expect(await coverageOf(at.db, "USDT-FUTURES")).toBeNull();
  });

  test("to any product type is told so once by sync, and once by verify, with all of them", async () => {
    await using at = await house(altered({ environment: "demo" }), { PRODUCT_TYPES: "" });
    const types = classicProductTypes.join(", ");
    const synced = await at.run("sync", "--only", "bills");
    expect([synced.code, at.requests()]).toEqual([1, 6]);
    expect(synced.stdout.match(/^.*40099.*$/gm)).toEqual([
      expect.stringMatching(`^main/${types}: the exchange refused \\(40099: `),
    ]);
    // The refusal is logged where it happens, and in the run's last line.
    const logged = synced.stderr.match(/^.*40099.*$/gm)?.map((line) => JSON.parse(line));
    expect(logged).toMatchObject([
      { productType: "USDT-FUTURES", also: classicProductTypes.slice(1).join(", ") },
      { outcome: "incomplete" },
    ]);
    const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
    const verified = await at.run("verify", "--from", daysAgo(2), "--to", daysAgo(1));
    expect(`${verified.stdout}${verified.stderr}`.match(/^.*40099.*$/gm)).toEqual([
      expect.stringMatching(`^main/${types}: not read to its end: `),
    ]);
  });

  test("but to one product type finishes the others and names that one", async () => {
    await using at = await house(
      { wrapAnswer: (answer) => withRefusedProducts(answer, ["COIN-FUTURES"]) },
      { PRODUCT_TYPES: "COIN-FUTURES,USDT-FUTURES" },
    );
    const syncedAt = Date.now();
    const end = await at.run("sync", "--only", "bills");
    expect(end.code).toBe(1);
    expect(end.stdout).toMatch(/\nmain\/COIN-FUTURES: the exchange refused \(40014: /);
    expect(end.stdout).not.toContain("main/USDT-FUTURES: ");
    expect(await heldAgainstLedger(at.db, at.sandbox, "USDT-FUTURES", syncedAt)).toMatchObject(
      exactly,
    );
    expect(await coverageOf(at.db, "COIN-FUTURES")).toBeNull();
    expect(await coverageOf(at.db, "USDT-FUTURES")).not.toBeNull();
  });
});

describe.concurrent("a machine whose clock is off", () => {
  test.each([-6, 6])(
    "by %i minutes signs by the exchange's clock from the first refusal on",
    async (minutes) => {
      const offMs = minutes * minuteMs;
      await using at = await house({
        now: () => performance.timeOrigin + performance.now() + offMs,
      });
      const syncedAt = Date.now() + offMs;
      const end = await at.run("sync", "--json", "--only", "bills");
      expect(end.code).toBe(0);
      expect(at.sandbox.statistics().refusals).toEqual({ "40008": 1 });
      expect(await heldAgainstLedger(at.db, at.sandbox, "USDT-FUTURES", syncedAt)).toMatchObject(
        exactly,
      );
      const [stream] = JSON.parse(end.stdout).streams;
      const settledTo = Date.parse(stream.completeThrough) + 10 * minuteMs;
      expect(Math.abs(settledTo - syncedAt)).toBeLessThan(minuteMs);
    },
  );
});

describe.concurrent("answers that are none", () => {
  const html =
    (answer: Answer, isOn: () => boolean): Answer =>
    async (request) => {
      const given = await answer(request);
      if (!isOn() || request.query["productType"] !== "COIN-FUTURES") return given;
      return { status: 200, headers: { "content-type": "text/html" }, body: "<html>Busy</html>" };
    };
  const faulty =
    (fault: Fault) =>
    (answer: Answer, isOn: () => boolean): Answer =>
      withFaults(answer, ({ query }) =>
        isOn() && query["productType"] === "COIN-FUTURES" ? fault : undefined,
      );
  const bad: readonly [string, (answer: Answer, isOn: () => boolean) => Answer, RegExp][] = [
    [
      "HTML",
      html,
      /the answer is not the exchange's: HTTP 200 "<html>Busy<\/html>" \(after 6 attempts\)/,
    ],
    [
      "cut off",
      faulty({ kind: "cut-json", share: 0.5 }),
      /the answer is not the exchange's: HTTP 200 .* \(after 6 attempts\)/,
    ],
    [
      "successes without data",
      faulty({ kind: "no-data", data: "null" }),
      /the answer to account bills broke the contract at data: .* \(after 6 attempts\)/,
    ],
  ];
  test.each(bad)(
    "%s: the walk fails, nothing is covered, and the next sync mends it",
    async (_title, wrap, message) => {
      let isOn = false;
      await using at = await house(
        { wrapAnswer: (answer) => wrap(answer, () => isOn) },
        { PRODUCT_TYPES: "USDT-FUTURES,COIN-FUTURES" },
      );
      expect((await at.run("sync", "--only", "bills")).code).toBe(0);
      const before = {
        coin: await coverageOf(at.db, "COIN-FUTURES"),
        usdt: await coverageOf(at.db, "USDT-FUTURES"),
      };
      isOn = true;
      const end = await at.run("sync", "--only", "bills");
      expect(end.code).toBe(1);
      const remarks = end.stdout.split("\n\n")[1]?.split("\n") ?? [];
      expect(remarks[0]).toMatch(message);
      expect(remarks[1]).toBe("main/COIN-FUTURES: 1 of 1 window not finished");
      expect(remarks[2]).toMatch(/^NOT complete, after/);
      expect(await coverageOf(at.db, "COIN-FUTURES")).toBe(before.coin);
      expect(await coverageOf(at.db, "USDT-FUTURES")).not.toBe(before.usdt);
      isOn = false;
      const mendedAt = Date.now();
      expect((await at.run("sync", "--only", "bills")).code).toBe(0);
      expect(await heldAgainstLedger(at.db, at.sandbox, "COIN-FUTURES", mendedAt)).toMatchObject(
        exactly,
      );
    },
  );
});
