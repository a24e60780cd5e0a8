import { createHmac } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { nonFinancialTypes } from "../src/contract/business-types.ts";
import { contracts } from "../src/contract/contracts.ts";
import { parseExactJson } from "../src/contract/json.ts";
import { loanToValue, readLoanToValue } from "../src/contract/loan-to-value.ts";
import type { Query } from "../src/contract/operation.ts";
import { signature } from "../src/contract/signature.ts";
import { symbolOf, symbols } from "../src/contract/symbols.ts";
import { dayMs, historyMs, intervalMaxMs, minuteMs } from "../src/contract/time.ts";
import type { ApiAnswer, ApiRequest } from "../src/exchange-server/api.ts";
import { rollingWindow } from "../src/exchange-server/arrivals.ts";
import { serveApi } from "../src/exchange-server/http.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import {
  createSandbox,
  openSandbox,
  type Sandbox,
  type SandboxOptions,
  sandboxEnvironment,
} from "../src/sandbox/sandbox.ts";
import { servedBills } from "../src/sandbox/source.ts";
import { sendDelivered } from "./faults/delivery.ts";
import { withRefusedProducts } from "./faults/network.ts";
import { type Quirks, quirky } from "./faults/quirks.ts";

const start = Date.UTC(2025, 5, 1, 10, 11, 12, 345);

/** A sandbox whose clock the test moves. */
function simulation(options: Partial<SandboxOptions> = {}) {
  const clock = { now: start };
  const sandbox = createSandbox({ seed: 1, density: 0.3, ...options, now: () => clock.now });
  return { clock, sandbox };
}

type Changes = {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly skewMs?: number;
  readonly secret?: string;
};

function signed(
  { account }: Sandbox,
  now: number,
  path: string,
  query: Query,
  { headers, skewMs = 0, secret = account.apiSecret }: Changes = {},
): ApiRequest {
  const timestamp = String(Math.floor(now) + skewMs);
  return {
    method: "GET",
    path,
    query,
    headers: {
      "ACCESS-KEY": account.apiKey,
      "ACCESS-SIGN": signature(secret, { timestamp, method: "GET", path, query }),
      "ACCESS-PASSPHRASE": account.apiPassphrase,
      "ACCESS-TIMESTAMP": timestamp,
      ...headers,
    },
    clientAddress: "10.0.0.1",
  };
}

type Body = { code: string; msg: string; requestTime: number; data: unknown };
const bodyOf = ({ body }: ApiAnswer): Body => parseExactJson(body) as Body;

async function askBills(
  { sandbox, clock }: ReturnType<typeof simulation>,
  query: Query,
  changes?: Changes,
) {
  clock.now += 101;
  const bills = { productType: "USDT-FUTURES", ...query };
  const answer = await sandbox.answer(
    signed(sandbox, clock.now, accountBills.path, bills, changes),
  );
  return { status: answer.status, ...bodyOf(answer) };
}

type Row = { billId: string; businessType: string; coin: string; cTime: string };
const rowsOf = (data: unknown): Row[] => (data as { bills: Row[] | null }).bills ?? [];

/** Walks a span until an empty page, as a client would. */
async function walk(simulated: ReturnType<typeof simulation>, query: Query): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 500; page++) {
    const asked = cursor === undefined ? query : { ...query, idLessThan: cursor };
    const { code, data } = await askBills(simulated, asked);
    expect(code).toBe("00000");
    const read = accountBills.data.parse(data);
    rows.push(...(read.rows as Row[]));
    if (read.rows.length === 0 || read.endId === undefined) return rows;
    cursor = read.endId;
  }
  throw new Error("the walk does not end");
}

const lastWeek = { startTime: String(start - intervalMaxMs), endTime: String(start) };

/** As sent by a client that writes the path to the wire without encoding it. */
async function getAsIs(url: string, path: string, headers: Record<string, string>) {
  const request = get(`${url}`, { path, headers });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode, ...(parseExactJson(await text(response)) as Body) };
}

describe("a signature of a query that needs encoding", () => {
  const sent =
    `productType=usdt-futures&startTime=${start - dayMs}&limit=100&endTime=${start}` +
    "&coin=U+S%20D/T%3D%26%E6%B0%B8'&businessType=trans_from_exchange";
  const sorted = (coin: string) =>
    `businessType=trans_from_exchange&coin=${coin}&endTime=${start}&limit=100` +
    `&productType=usdt-futures&startTime=${start - dayMs}`;
  const decoded =
    `productType=usdt-futures&startTime=${start - dayMs}&limit=100&endTime=${start}` +
    "&coin=U S D/T=&永'&businessType=trans_from_exchange";
  const ways: readonly [string, string, string][] = [
    ["as it was sent, raw", sent, "00000"],
    ["as it was sent, decoded", decoded, "00000"],
    ["sorted and percent-encoded", sorted("U%20S%20D%2FT%3D%26%E6%B0%B8'"), "00000"],
    ["sorted and encoded as a form", sorted("U+S+D%2FT%3D%26%E6%B0%B8%27"), "00000"],
    ["sorted and decoded", sorted("U S D/T=&永'"), "00000"],
    ["in another order", sent.split("&").toReversed().join("&"), "40009"],
    ["of another coin", sorted("USDT"), "40009"],
    ["of no query at all", "", "40009"],
  ];
  test.each(ways)("%s: %j", async (_title, query, code) => {
    await using sandbox = await openSandbox({ seed: 1, density: 0.1, now: () => start });
    const { apiKey, apiSecret, apiPassphrase } = sandbox.account;
    const signedText = `${start}GET${accountBills.path}${query === "" ? "" : `?${query}`}`;
    const answer = await getAsIs(sandbox.url, `${accountBills.path}?${sent}`, {
      "ACCESS-KEY": apiKey,
      "ACCESS-SIGN": createHmac("sha256", apiSecret).update(signedText).digest("base64"),
      "ACCESS-PASSPHRASE": apiPassphrase,
      "ACCESS-TIMESTAMP": String(start),
    });
    expect(answer.code).toBe(code);
  });
});

describe("a signed request", () => {
  const refused: readonly [string, Changes, string][] = [
    ["without a key", { headers: { "ACCESS-KEY": undefined } }, "40001"],
    ["without a signature", { headers: { "ACCESS-SIGN": undefined } }, "40003"],
    ["without a passphrase", { headers: { "ACCESS-PASSPHRASE": undefined } }, "40011"],
    ["without a timestamp", { headers: { "ACCESS-TIMESTAMP": undefined } }, "40005"],
    ["with an unknown key", { headers: { "ACCESS-KEY": "nobody" } }, "40037"],
    ["signed with another secret", { secret: "other" }, "40009"],
    ["with another passphrase", { headers: { "ACCESS-PASSPHRASE": "other" } }, "40036"],
    ["from a clock 30.001 s behind", { skewMs: -30_001 }, "40008"],
    ["from a clock 30.001 s ahead", { skewMs: 30_001 }, "40008"],
  ];
  test.each(refused)("%s is refused", async (_title, changes, code) => {
    const answer = await askBills(simulation(), {}, changes);
    expect(answer).toMatchObject({ status: 400, code, data: null });
    expect(answer.requestTime).toBeGreaterThan(start);
  });

  test.each([-30_000, 30_000])("from a clock %i ms off is served", async (skewMs) => {
    expect(await askBills(simulation(), {}, { skewMs })).toMatchObject({ code: "00000" });
  });

  // The exchange's rule for demo keys and their header, and for the product types of a live account.
  const environments = [
    ["live", undefined, "USDT-FUTURES", "00000"],
    ["live", undefined, "SUSDT-FUTURES", "00000"],
    ["live", "1", "USDT-FUTURES", "40099"],
    ["live", "1", "SUSDT-FUTURES", "40099"],
    ["demo", "1", "USDT-FUTURES", "00000"],
    ["demo", "1", "COIN-FUTURES", "00000"],
    ["demo", "1", "SUSDT-FUTURES", "40099"],
    ["demo", undefined, "USDT-FUTURES", "40099"],
    ["demo", undefined, "SUSDT-FUTURES", "40099"],
    ["both", "1", "SCOIN-FUTURES", "40099"],
  ] as const;
  test.each(environments)(
    "with a %s key and paptrading %s for bills of %s is answered with %s",
    async (environment, paptrading, productType, code) => {
      const simulated = simulation({ alterCredential: (given) => ({ ...given, environment }) });
      const answer = await askBills(simulated, { productType }, { headers: { paptrading } });
      expect(answer.code).toBe(code);
    },
  );

  const credentials = [
    ["without the permission", { permissions: [] }, "40014"],
    ["of a unified account", { accountMode: "unified" }, "40085"],
  ] as const;
  test.each(credentials)("%s is refused", async (_title, changes, code) => {
    const simulated = simulation({ alterCredential: (given) => ({ ...given, ...changes }) });
    expect(await askBills(simulated, {})).toMatchObject({ status: 400, code });
  });

  test("names its headers in any case", async () => {
    const { sandbox, clock } = simulation();
    const request = signed(sandbox, clock.now, loanToValue.path, {});
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect((await sandbox.answer({ ...request, headers })).status).toBe(200);
  });

  test("sees its own account's ledger only", async () => {
    const simulated = simulation({ accountNames: ["left", "right"] });
    const [, right] = simulated.sandbox.accounts;
    if (right === undefined) throw new Error("no second account");
    const left = await walk(simulated, lastWeek);
    const other = await walk(
      { ...simulated, sandbox: { ...simulated.sandbox, account: right } },
      lastWeek,
    );
    expect(other.length).toBeGreaterThan(0);
    expect(JSON.stringify(other)).not.toBe(JSON.stringify(left));
  });
});

describe("a query for bills", () => {
  const refused: readonly [string, Query, string][] = [
    ["of an unknown product type", { productType: "SPOT" }, "400172"],
    ["of more than 100", { limit: "101" }, "40020"],
    ["of none", { limit: "0" }, "40020"],
    ["with a coin and no businessType", { coin: "USDT" }, "40020"],
    ["with a coin and a trade", { coin: "USDT", businessType: "buy" }, "40020"],
    ["with an unknown parameter", { idGreaterThan: "1" }, "40034"],
    ["with another word than yes or no", { onlyFunding: "maybe" }, "40020"],
    ["with a date for a time", { startTime: "2025-06-01" }, "40020"],
    ["with a cursor that is no id", { idLessThan: "1e3" }, "40020"],
    [
      "over 7 days and 1 ms",
      { startTime: String(start - intervalMaxMs - 1), endTime: String(start) },
      "43111",
    ],
    [
      "that ends before it starts",
      { startTime: String(start), endTime: String(start - 1) },
      "43111",
    ],
  ];
  test.each(refused)("%s is refused", async (_title, query, code) => {
    expect(await askBills(simulation(), query)).toMatchObject({ status: 400, code, data: null });
  });

  test("without a product type is refused", async () => {
    const { sandbox, clock } = simulation();
    const answer = await sandbox.answer(signed(sandbox, clock.now, accountBills.path, {}));
    expect(bodyOf(answer).code).toBe("40019");
  });

  test("is answered with 20 rows unless it says how many", async () => {
    const simulated = simulation();
    expect(rowsOf((await askBills(simulated, {})).data)).toHaveLength(20);
    expect(rowsOf((await askBills(simulated, { limit: "7" })).data)).toHaveLength(7);
  });

  test("gets no bill older than 90 days, not even by cursor", async () => {
    const simulated = simulation();
    const startTime = String(start - historyMs - 3 * dayMs);
    const rows = await walk(simulated, { startTime, endTime: String(start - historyMs + dayMs) });
    expect(rows.length).toBeGreaterThan(0);
    const horizon = simulated.clock.now - historyMs;
    expect(rows.filter(({ cTime }) => Number(cTime) < horizon - 60_000)).toEqual([]);
    const past = await askBills(simulated, { idLessThan: rows.at(-1)?.billId ?? "" });
    expect(rowsOf(past.data)).toEqual([]);
  });

  test("from behind the horizon is refused where the exchange refuses it", async () => {
    const simulated = simulation({ wrapSource: quirky({ pastHorizon: "refuse" }) });
    const query = { startTime: String(start - historyMs), endTime: String(start - historyMs + 9) };
    expect(await askBills(simulated, query)).toMatchObject({ status: 400, code: "43111" });
  });

  test("filters by businessType, coin and onlyFunding", async () => {
    const simulated = simulation({ density: 1 });
    const all = await walk(simulated, { limit: "100" });
    const count = (predicate: (row: Row) => boolean) => all.filter(predicate).length;
    const isMargin = ({ businessType }: Row) =>
      nonFinancialTypes.some((code) => code === businessType);
    const transfersIn = await walk(simulated, {
      businessType: "trans_from_exchange",
      coin: "USDT",
    });
    expect(transfersIn).toHaveLength(
      count((row) => row.businessType === "trans_from_exchange" && row.coin === "USDT"),
    );
    const financial = await walk(simulated, { onlyFunding: "yes", limit: "100" });
    expect(count(isMargin)).toBeGreaterThan(3);
    expect(financial).toHaveLength(all.length - count(isMargin));
    expect(await walk(simulated, { businessType: "no_such_type" })).toEqual([]);
  });
});

describe("a walk by idLessThan", () => {
  const orders = ["newest-first", "oldest-first", "shuffled"] as const;
  const ends = ["empty-string", "null-id", "no-id", "null-bills"] as const;
  const quirks: Quirks[] = orders.flatMap((pageOrder) =>
    ends.flatMap((lastPage) =>
      [true, false].map((shortLastPage) => ({ pageOrder, lastPage, shortLastPage })),
    ),
  );
  test.each(quirks)(
    "reads each bill of a week once: $pageOrder, $lastPage, $shortLastPage",
    async (quirk) => {
      const simulated = simulation({ wrapSource: quirky(quirk), density: 1 });
      const week = start - 5 * intervalMaxMs;
      const span = { from: week, to: week + intervalMaxMs + 1, now: start };
      const expected = servedBills(simulated.sandbox.account.ledger, "USDT-FUTURES", span);
      const query = { startTime: String(week), endTime: String(week + intervalMaxMs), limit: "20" };
      const rows = await walk(simulated, query);
      expect(rows.map(({ billId }) => billId).sort()).toEqual(
        expected.map(({ billId }) => billId).sort(),
      );
      expect(rows.length).toBeGreaterThan(60);
    },
  );

  const bounds = [
    ["both", 3],
    ["start", 2],
    ["end", 2],
    ["neither", 1],
  ] as const;
  test.each(bounds)(
    "with bounds that include %s reads %i of three bills on an edge",
    async (kind, count) => {
      const simulated = simulation({ wrapSource: quirky({ bounds: kind }) });
      const edge = start - historyMs + 5 * intervalMaxMs;
      const query = { startTime: String(edge - 1), endTime: String(edge + 1) };
      expect(await walk(simulated, query)).toHaveLength(count);
    },
  );

  test("does not see a bill before it shows up, and sees it after", async () => {
    const simulated = simulation();
    const late = simulated.sandbox.account.ledger.bills["USDT-FUTURES"].find(
      ({ cTime, visibleAt }) => cTime < start && visibleAt > start + minuteMs,
    );
    if (late === undefined) throw new Error("no late bill");
    const query = { startTime: String(late.cTime - 1), endTime: String(late.cTime + 1) };
    expect(await walk(simulated, query)).toEqual([]);
    simulated.clock.now = late.visibleAt;
    expect((await walk(simulated, query)).map(({ billId }) => billId)).toEqual([late.billId]);
  });

  test("gets unlisted fields with all their digits", async () => {
    const { sandbox, clock } = simulation({ density: 1 });
    const exact = sandbox.account.ledger.bills["USDT-FUTURES"].find(
      ({ row, cTime }) =>
        cTime > start - historyMs + dayMs && JSON.stringify(row).includes("execPrice"),
    );
    if (exact === undefined) throw new Error("no number with zeros at its end");
    const [startTime, endTime] = [String(exact.cTime), String(exact.cTime)];
    const query = { productType: "USDT-FUTURES", startTime, endTime, limit: "100" };
    const { body } = await sandbox.answer(signed(sandbox, clock.now, accountBills.path, query));
    expect(body).toContain(JSON.stringify(exact.row));
  });
});

describe("the other operations", () => {
  const ask = async ({ sandbox, clock }: ReturnType<typeof simulation>, query: Query) =>
    bodyOf(await sandbox.answer(signed(sandbox, clock.now, loanToValue.path, query)));
  const askSymbols = async ({ sandbox }: ReturnType<typeof simulation>, query: Query) =>
    bodyOf(
      await sandbox.answer({
        method: "GET",
        path: symbols.path,
        query,
        headers: {},
        clientAddress: "10.0.0.1",
      }),
    );

  test("loan-to-value serves an account's own unit, and the named one", async () => {
    const simulated = simulation();
    const [riskUnitId = ""] = simulated.sandbox.account.riskUnitIds;
    const own = await ask(simulated, {});
    expect(readLoanToValue(own.data)).toMatchObject({ record: { collateral: { length: 3 } } });
    expect((await ask(simulated, { riskUnitId })).data).toEqual(own.data);
    expect((await ask(simulated, { riskUnitId: "1" })).code).toBe("40020");
  });

  test("loan-to-value refuses a parent account that names no unit", async () => {
    expect((await ask(simulation({ isParent: true }), {})).code).toBe("40019");
  });

  test("contracts serves those of a product type in any case, else the one, and needs the type", async () => {
    const { sandbox } = simulation();
    const askContracts = async (query: Query) =>
      bodyOf(
        await sandbox.answer({
          method: "GET",
          path: contracts.path,
          query,
          headers: {},
          clientAddress: "10.0.0.1",
        }),
      );
    const namesOf = async (query: Query) =>
      contracts.data.parse((await askContracts(query)).data).map(symbolOf);
    const usdc = ["BTCPERP", "ETHPERP", "SOLPERP"];
    expect(await namesOf({ productType: "USDC-FUTURES" })).toEqual(usdc);
    expect(await namesOf({ productType: "usdc-futures", symbol: " " })).toEqual(usdc);
    expect(await namesOf({ productType: "USDC-FUTURES", symbol: "ETHPERP" })).toEqual(["ETHPERP"]);
    const nope = { productType: "USDC-FUTURES", symbol: "BTCUSDT" };
    expect((await askContracts(nope)).code).toBe("40034");
    expect((await askContracts({})).code).toBe("40019");
    expect((await askContracts({ productType: "SPOT" })).code).toBe("400172");
  });

  test("symbols serves all pairs where the symbol is missing or blank, else the one", async () => {
    const simulated = simulation();
    for (const query of [{}, { symbol: "" }, { symbol: " " }])
      expect(symbols.data.parse((await askSymbols(simulated, query)).data)).toHaveLength(60);
    const { data } = await askSymbols(simulated, { symbol: "BTCUSDT" });
    expect(symbols.data.parse(data).map(symbolOf)).toEqual(["BTCUSDT"]);
    expect((await askSymbols(simulated, { symbol: "NOPE" })).code).toBe("40034");
  });

  test("an unknown path and another method are refused with an envelope", async () => {
    const { sandbox } = simulation();
    const request = signed(sandbox, start, "/api/v3/nothing", {});
    const missing = await sandbox.answer(request);
    expect([missing.status, bodyOf(missing).requestTime]).toEqual([404, start]);
    const posted = await sandbox.answer({ ...request, path: symbols.path, method: "POST" });
    expect(posted.status).toBe(405);
  });
});

describe("limits", () => {
  /** The statuses of bill requests that arrive at these times after the start. */
  async function statusesAt(times: readonly number[], options: Partial<SandboxOptions> = {}) {
    const { sandbox, clock } = simulation(options);
    const answers: ApiAnswer[] = [];
    for (const time of times) {
      clock.now = start + time;
      const query = { productType: "USDT-FUTURES" };
      answers.push(await sandbox.answer(signed(sandbox, clock.now, accountBills.path, query)));
    }
    return { statuses: answers.map(({ status }) => status), answers, sandbox };
  }

  test("ten at once and ten a second later are served, the eleventh is not", async () => {
    const tenAt = (time: number) => Array.from({ length: 10 }, () => time);
    const fine = await statusesAt([...tenAt(0), ...tenAt(1_000), ...tenAt(2_000)]);
    expect(new Set(fine.statuses)).toEqual(new Set([200]));
    expect((await statusesAt([...tenAt(0), 999])).statuses.at(-1)).toBe(429);
  });

  test("a window that slides catches what a fixed second lets through", async () => {
    const burst = (from: number) => Array.from({ length: 10 }, (_, index) => from + index);
    const { statuses } = await statusesAt([...burst(990), ...burst(1_000)]);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  });

  test("refused requests count too, so that hammering keeps the door shut", async () => {
    const times = Array.from({ length: 60 }, (_, index) => index * 50);
    const { statuses, sandbox } = await statusesAt(times);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(sandbox.statistics()).toMatchObject({
      arrivals: { "account bills": 60 },
      refusals: { "429": 50 },
      peaks: [{ operation: "account bills", scope: sandbox.account.uid, requests: 20 }],
    });
  });

  test("Retry-After is sent where asked for, in whole seconds", async () => {
    const times = Array.from({ length: 11 }, (_, index) => index);
    const { answers } = await statusesAt(times, { retryAfter: true });
    expect(answers.at(-1)?.headers["retry-after"]).toBe("1");
    const silent = await statusesAt(times);
    expect(silent.answers.at(-1)?.headers).not.toHaveProperty("retry-after");
  });

  test("are counted by user, not by key or address", async () => {
    const { sandbox, clock } = simulation();
    const statuses: number[] = [];
    for (let arrival = 0; arrival < 11; arrival++) {
      const request = signed(sandbox, clock.now, accountBills.path, {
        productType: "USDT-FUTURES",
      });
      const clientAddress = `10.0.0.${arrival}`;
      statuses.push((await sandbox.answer({ ...request, clientAddress })).status);
    }
    expect(statuses.at(-1)).toBe(429);
  });

  test("more than 6,000 requests a minute lock an address out for five minutes", async () => {
    const { sandbox, clock } = simulation();
    const ask = (clientAddress = "10.0.0.1") =>
      sandbox.answer({ method: "GET", path: "/", query: {}, headers: {}, clientAddress });
    for (let arrival = 0; arrival < 6_000; arrival++) await ask();
    clock.now += 59_999;
    expect((await ask()).status).toBe(429);
    expect((await ask("10.0.0.2")).status).toBe(404);
    clock.now += 5 * minuteMs - 1;
    expect((await ask()).status).toBe(429);
    clock.now += 1;
    expect((await ask()).status).toBe(404);
  });

  test.each([1, 2, 3])(
    "the peak is what counting every pair of arrivals gives (seed %i)",
    (seed) => {
      const random = seededRandom(seed);
      const window = rollingWindow(1_000);
      const times: number[] = [];
      let time = 0;
      for (let arrival = 0; arrival < 3_000; arrival++) {
        time += random() < 0.3 ? 0 : random() * 40;
        times.push(time);
        window.arrive(time);
      }
      const most = Math.max(
        ...times.map((end) => times.filter((at) => at > end - 1_000 && at <= end).length),
      );
      expect(window.peak()).toBe(most);
    },
  );

  test("a public request that carries credentials is noticed", async () => {
    const { sandbox, clock } = simulation();
    await sandbox.answer(signed(sandbox, clock.now, symbols.path, {}));
    expect(sandbox.statistics().strayCredentials).toBe(1);
  });
});

describe("faults", () => {
  test("can refuse a product type and leave the others", async () => {
    const simulated = simulation({
      wrapAnswer: (answer) => withRefusedProducts(answer, ["COIN-FUTURES"]),
    });
    expect((await askBills(simulated, { productType: "COIN-FUTURES" })).code).toBe("40014");
    expect((await askBills(simulated, {})).code).toBe("00000");
  });
});

describe("over HTTP", () => {
  test("a sandbox answers as it does in process", async () => {
    await using sandbox = await openSandbox({ seed: 1, density: 0.1, now: () => start });
    const query = { productType: "USDT-FUTURES", limit: "3" };
    const request = signed(sandbox, start, accountBills.path, query);
    const url = `${sandbox.url}${accountBills.path}?${new URLSearchParams(query)}`;
    const response = await fetch(url, { headers: request.headers as Record<string, string> });
    expect(await response.text()).toBe((await sandbox.answer(request)).body);
    expect(sandboxEnvironment(sandbox)).toContain(`EXCHANGE_BASE_URL=${sandbox.url}\n`);
  });

  test("an unknown path is a 404 in an envelope", async () => {
    await using sandbox = await openSandbox({ seed: 1, density: 0.1 });
    const response = await fetch(`${sandbox.url}/nothing`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "40404", data: null });
  });

  test("a cut answer breaks the connection in mid body", async () => {
    const body = JSON.stringify({ code: "00000", data: "x".repeat(5_000) });
    const delivery = { way: "cut", afterBytes: 2_000 } as const;
    const answer = async () => ({ status: 200, headers: {}, body, delivery });
    await using server = await serveApi(answer, { send: sendDelivered });
    const response = await fetch(server.url);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  test("a thrown error is a 500 in an envelope that tells nothing of it", async () => {
    const answer = async () => {
      throw new Error("the password is hunter2");
    };
    const errors: unknown[] = [];
    await using server = await serveApi(answer, { onError: (error) => errors.push(error) });
    const response = await fetch(server.url);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("hunter2");
    expect(JSON.parse(text)).toMatchObject({ code: "40015", data: null });
    expect(errors).toHaveLength(1);
  });

  test("a head past 16 KiB is refused and the server goes on", async () => {
    await using sandbox = await openSandbox({ seed: 1, density: 0.1 });
    const response = await fetch(`${sandbox.url}/?${"x".repeat(20_000)}`);
    expect(response.status).toBe(431);
    expect((await fetch(`${sandbox.url}${symbols.path}`)).status).toBe(200);
  });

  test("a server that is disposed of takes no more requests", async () => {
    const server = await serveApi(async () => ({ status: 200, headers: {}, body: "{}" }));
    await (await fetch(server.url)).text();
    await server[Symbol.asyncDispose]();
    await expect(fetch(server.url)).rejects.toThrow();
  });
});
