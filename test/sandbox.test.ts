import { describe, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { businessTypes } from "../src/core/contract/business-types.ts";
import { financialRecords } from "../src/core/contract/financial-records.ts";
import { parseExactJson } from "../src/core/contract/json.ts";
import { keyInfo } from "../src/core/contract/key-info.ts";
import { unifiedLoanToValue } from "../src/core/contract/loan-to-value.ts";
import type { Query } from "../src/core/contract/operation.ts";
import {
  classicProductTypes,
  type ProductType,
  unifiedProductTypes,
} from "../src/core/contract/product-types.ts";
import { signature, signatureOf } from "../src/core/contract/signature.ts";
import { accountSettings } from "../src/core/contract/unified-account.ts";
import { Refusal } from "../src/core/server/answer.ts";
import { acceptedSignatures } from "../src/core/server/authenticate.ts";
import { intervalMaxMs, minuteMs, retentionMs, unifiedIntervalMaxMs } from "../src/lib/time.ts";
import type { LedgerBill, WireBill } from "../src/wings/sandbox/entry.ts";
import {
  type LedgerOptions,
  type ModeChange,
  makeLedger,
  unheardOfTypes,
} from "./exchange/account-ledger.ts";
import type { OddCredential } from "./exchange/credential.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "./exchange/sandbox.ts";

// What the exchange is known to do. That a sandbox with any quirk of test/exchange serves each bill
// once is seen by the simulation, which compares what was stored with the sandbox's ledger.
const start = Date.UTC(2025, 5, 1, 10, 11, 12, 345);
const always = (mode: string): readonly ModeChange[] => [{ at: Number.NEGATIVE_INFINITY, mode }];

type Simulated = { readonly clock: { now: number }; readonly sandbox: Sandbox };

/** A sandbox whose clock the test moves. */
function simulation(options: Partial<SandboxOptions> = {}): Simulated {
  const clock = { now: start };
  const sandbox = createSandbox({ seed: 1, density: 0.3, ...options, now: () => clock.now });
  return { clock, sandbox };
}
const unified = (options: Partial<SandboxOptions> = {}): Simulated =>
  simulation({ modes: always("unified"), ...options });
/** A sandbox whose key is another one. */
const withKey = (changes: Partial<OddCredential>, mode = "classic"): Simulated =>
  simulation({ modes: always(mode), alterCredential: (given) => ({ ...given, ...changes }) });

type Changes = {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly skewMs?: number;
  readonly secret?: string;
  readonly method?: string;
  readonly clientAddress?: string;
};
type Body = { code: string; msg: string; requestTime: number; data: unknown };

async function ask(
  { sandbox: { account, answer }, clock }: Simulated,
  path: string,
  query: Query = {},
  { headers, skewMs = 0, secret = account.apiSecret, ...changes }: Changes = {},
) {
  const timestamp = String(Math.floor(clock.now) + skewMs);
  const answered = await answer({
    method: "GET",
    path,
    query,
    headers: {
      "ACCESS-KEY": account.apiKey,
      "ACCESS-SIGN": signature(secret, { timestamp, path, query }),
      "ACCESS-PASSPHRASE": account.apiPassphrase,
      "ACCESS-TIMESTAMP": timestamp,
      ...headers,
    },
    clientAddress: "10.0.0.1",
    ...changes,
  });
  return { ...answered, ...(parseExactJson(answered.body) as Body) };
}
const codeOf = async (...request: Parameters<typeof ask>): Promise<string> =>
  (await ask(...request)).code;
const askBills = (simulated: Simulated, query: Query = {}, changes: Changes = {}) =>
  ask(simulated, accountBills.path, { productType: "USDT-FUTURES", ...query }, changes);
const askRecords = (simulated: Simulated, query: Query = {}) =>
  ask(simulated, financialRecords.path, { category: "SPOT", ...query });

test("a query may be signed as it was sent, or sorted, and each encoded or decoded", () => {
  const request = { timestamp: "1", path: "/p" };
  const sent = "b=U+S%20D/T%3D%26%E6%B0%B8'&a=1";
  const accepted = acceptedSignatures("secret", { ...request, sentQuery: sent });
  const isAccepted = (query: string) =>
    accepted.includes(
      signatureOf("secret", request.timestamp, query === "" ? "/p" : `/p?${query}`),
    );
  for (const query of [
    ...[sent, "b=U S D/T=&永'&a=1", "a=1&b=U S D/T=&永'"],
    ...["a=1&b=U%20S%20D%2FT%3D%26%E6%B0%B8'", "a=1&b=U+S+D%2FT%3D%26%E6%B0%B8%27"],
  ])
    expect({ query, isAccepted: isAccepted(query) }).toEqual({ query, isAccepted: true });
  for (const query of ["a=1&b=U", "a=1", ""]) expect(isAccepted(query)).toBe(false);
});

test.each<[number, string]>([
  [-30_001, "40008"],
  [30_001, "40008"],
  [-30_000, "00000"],
  [30_000, "00000"],
])("a request from a clock that is %i ms ahead is answered with %s", async (skewMs, code) => {
  expect(await askBills(simulation(), {}, { skewMs })).toMatchObject({ code });
});

// The exchange's rule for demo keys and their header, and for the product types of a live account.
test.each([
  ["live", undefined, "USDT-FUTURES", "00000"],
  ["live", undefined, "SUSDT-FUTURES", "00000"],
  ["live", "1", "USDT-FUTURES", "40099"],
  ["demo", "1", "USDT-FUTURES", "00000"],
  ["demo", "1", "SUSDT-FUTURES", "40099"],
  ["demo", undefined, "USDT-FUTURES", "40099"],
] as const)(
  "a %s key with paptrading %s that asks for bills of %s is answered with %s",
  async (environment, paptrading, productType, code) => {
    const simulated = withKey({ environment });
    const answer = await askBills(simulated, { productType }, { headers: { paptrading } });
    expect(answer.code).toBe(code);
  },
);

const span = (ms: number) => ({ startTime: String(start - ms), endTime: String(start) });

test.each<[Query, string]>([
  [{ productType: "SPOT" }, "400172"],
  [{ limit: "101" }, "40020"],
  [{ limit: "0" }, "40020"],
  [{ coin: "USDT" }, "40020"],
  [{ coin: "USDT", businessType: "buy" }, "40020"],
  [{ idGreaterThan: "1" }, "40034"],
  [{ onlyFunding: "maybe" }, "40020"],
  [{ startTime: "2025-06-01" }, "40020"],
  [{ idLessThan: "1e3" }, "40020"],
  [span(intervalMaxMs + 1), "43111"],
  [span(-1), "43111"],
])("a query for bills with %j is refused with %s", async (query, code) => {
  expect(await askBills(simulation(), query)).toMatchObject({ status: 400, code, data: null });
});

test.each<[Query, string]>([
  [{ category: "" }, "400172"],
  [{ category: "FUTURES" }, "400172"],
  [{ limit: "101" }, "40020"],
  [{ idLessThan: "1" }, "40034"],
  [{ cursor: "1e3" }, "40020"],
  [span(unifiedIntervalMaxMs + 1), "43111"],
])("a query for records with %j is refused with %s", async (query, code) => {
  expect(await askRecords(unified(), query)).toMatchObject({ status: 400, code });
});

// Of bills of v2, and of records, settings and info of v3; also where it comes about meanwhile.
test.each([
  ["classic", ["00000", "40084", "40084", "40084"]],
  ["unified", ["40085", "00000", "00000", "00000"]],
  ["hybrid", ["40085", "00000", "00000", "00000"]],
  ["upgrading", ["40085", "40084", "00000", "00000"]],
  ["a word unheard of", ["40085", "40084", "00000", "00000"]],
])("mode %s opens the one API and not the other", async (mode, codes) => {
  const before = mode === "classic" ? "unified" : "classic";
  const modes = [...always(before), { at: start + minuteMs, mode }];
  const simulated = simulation({ modes });
  const answers = async () => [
    (await askBills(simulated)).code,
    (await askRecords(simulated)).code,
    await codeOf(simulated, accountSettings.path),
    await codeOf(simulated, keyInfo.unified.path),
  ];
  expect(await answers()).not.toEqual(codes);
  simulated.clock.now += minuteMs;
  expect(await answers()).toEqual(codes);
  // It is looked at before the signature, which so proves nothing.
  const headers = { "ACCESS-SIGN": "wrong", "ACCESS-PASSPHRASE": "wrong" };
  const isServed = codes[0] === "00000";
  expect((await askBills(simulated, {}, { headers })).code).toBe(isServed ? "40036" : "40085");
});

test("a key may be refused all, or a product type that others may read, in other codes too", async () => {
  const withoutRight = withKey({ permissions: ["bills"] }, "unified");
  expect(await codeOf(withoutRight, accountSettings.path)).toBe("40014");
  expect((await askRecords(withoutRight)).code).toBe("40014");
  expect((await askBills(withKey({ permissions: [] }))).code).toBe("40014");
  const refused = new Map([["UTA-MARGIN", new Refusal(400, "40014", "no right")]] as const);
  const simulated = withKey({ refused }, "unified");
  expect((await askRecords(simulated, { category: "MARGIN" })).code).toBe("40014");
  expect((await askRecords(simulated)).code).toBe("00000");
  expect((await askBills(withKey({ unifiedRefusal: "40731" }, "unified"))).code).toBe("40731");
  expect((await askRecords(withKey({ classicRefusal: "25245" }))).code).toBe("25245");
});

test.each([
  [accountBills, { productType: "USDT-FUTURES" }, "classic", 10],
  [financialRecords, { category: "OTHER" }, "unified", 20],
  [accountSettings, {}, "unified", 20],
  [keyInfo.unified, {}, "unified", 5],
  [unifiedLoanToValue, {}, "unified", 3],
] as const)(
  "a key may ask for $name as often as documented, from whatever address",
  async ({ path }, query, mode, most) => {
    const simulated = simulation({ modes: always(mode) });
    const codes: string[] = [];
    for (let count = 0; count <= most; count++)
      codes.push(await codeOf(simulated, path, query, { clientAddress: `10.0.0.${count}` }));
    expect(codes).toEqual([...Array.from({ length: most }, () => "00000"), "429"]);
  },
);

describe("a limit", () => {
  /** The statuses of requests for bills that arrive at these times after the start. */
  async function statusesAt(times: readonly number[]) {
    const simulated = simulation();
    const answers: Awaited<ReturnType<typeof ask>>[] = [];
    for (const time of times) {
      simulated.clock.now = start + time;
      answers.push(await askBills(simulated));
    }
    const statuses = answers.map(({ status }) => status);
    return { served: statuses.filter((status) => status === 200).length, answers, ...simulated };
  }
  const at = (count: number, from: number, stepMs = 0) =>
    Array.from({ length: count }, (_, index) => from + index * stepMs);

  test("serves ten at once and ten a second later, by a window that slides", async () => {
    expect((await statusesAt([...at(10, 0), ...at(10, 1_000), ...at(10, 2_000)])).served).toBe(30);
    expect((await statusesAt([...at(10, 0), 999])).served).toBe(10);
    expect((await statusesAt([...at(10, 990, 1), ...at(10, 1_000, 1)])).served).toBe(10);
  });

  test("counts refused requests, so that hammering keeps the door shut", async () => {
    // The last one comes after a pause. It is served, and the peak stays what it was.
    const { served, sandbox } = await statusesAt([...at(60, 0, 50), 10_000]);
    expect(served).toBe(11);
    expect(sandbox.statistics()).toMatchObject({
      arrivals: { "account bills": 61 },
      refusals: { "429": 50 },
      peaks: [{ operation: "account bills", scope: sandbox.account.uid, requests: 20 }],
    });
  });

  test("of 6,000 requests a minute locks an address out for five minutes", async () => {
    const simulated = simulation();
    const status = async (clientAddress = "10.0.0.1") =>
      (await ask(simulated, "/", {}, { clientAddress })).status;
    for (let arrival = 0; arrival < 6_000; arrival++) await status();
    simulated.clock.now += 59_999;
    expect([await status(), await status("10.0.0.2")]).toEqual([429, 404]);
    simulated.clock.now += 5 * minuteMs - 1;
    expect(await status()).toBe(429);
    simulated.clock.now += 1;
    expect(await status()).toBe(404);
  });
});

const ledgerOf = (options: Partial<LedgerOptions> = {}) =>
  makeLedger({ seed: 1, now: start, ...options });
const billsOf = ({ bills }: ReturnType<typeof makeLedger>, types: readonly ProductType[]) =>
  types.flatMap((productType) => bills[productType].map((bill) => ({ ...bill, productType })));
const rowOf = ({ row }: LedgerBill): WireBill => row as WireBill;

describe("a ledger", () => {
  test("has all that is hard to read", () => {
    const [classic, unified] = [ledgerOf(), ledgerOf({ modes: always("unified") })];
    const bills = billsOf(classic, classicProductTypes);
    const usdt = bills.filter(({ productType }) => productType === "USDT-FUTURES");
    const served = new Set(
      usdt.flatMap(({ cTime, businessType }) =>
        cTime > start - retentionMs && cTime < start ? [businessType] : [],
      ),
    );
    const kinds = [...businessTypes.map(({ code }) => code), ...unheardOfTypes];
    expect(kinds.filter((code) => !served.has(code))).toEqual([]);
    // Bills at the edges of windows, in each ledger.
    const edges = Array.from(
      { length: 13 },
      (_, week) => start - retentionMs + week * intervalMaxMs,
    );
    for (const [ledger, types] of [
      [classic, classicProductTypes],
      [unified, unifiedProductTypes],
    ] as const)
      for (const type of types) {
        const times = new Set<number>(ledger.bills[type].map(({ cTime }) => cTime));
        const beside = edges.flatMap((edge) => [edge - 1, edge, edge + 1]);
        expect(beside.filter((time) => !times.has(time))).toEqual([]);
      }
    // More than a page in one millisecond.
    for (const crowd of [usdt, billsOf(unified, unifiedProductTypes)]) {
      const sizes = [...Map.groupBy(crowd, ({ cTime }) => cTime).values()].map((all) => all.length);
      expect(Math.max(...sizes)).toBeGreaterThan(100);
    }
    const lateness = bills.map(({ cTime, visibleAt }) => visibleAt - cTime);
    expect([Math.min(...lateness), Math.max(...lateness) > 10 * minuteMs]).toEqual([0, false]);
    const late = lateness.filter((lateMs) => lateMs > 0).length;
    expect(late).toBeGreaterThan(6);
    expect(late).toBeLessThan(lateness.length / 20);
    const oddities: readonly ((row: WireBill) => boolean)[] = [
      (row) => !("balance" in row),
      (row) => row["balance"] === "",
      (row) => row["symbol"] === "",
      (row) => String(row["feeByCoupon"]).startsWith("-"),
      (row) => JSON.isRawJSON(row["execPrice"]),
      (row) => typeof row["detail"] === "object",
    ];
    expect(oddities.filter((isOdd) => !bills.map(rowOf).some(isOdd))).toEqual([]);
  });
});
