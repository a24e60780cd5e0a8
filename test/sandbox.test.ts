import { createHmac } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { businessTypes } from "../src/contract/business-types.ts";
import { financialRecords } from "../src/contract/financial-records.ts";
import { parseExactJson } from "../src/contract/json.ts";
import { keyInfo } from "../src/contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../src/contract/loan-to-value.ts";
import type { Query } from "../src/contract/operation.ts";
import {
  classicProductTypes,
  type ProductType,
  unifiedProductTypes,
} from "../src/contract/product-types.ts";
import { signature } from "../src/contract/signature.ts";
import { symbols } from "../src/contract/symbols.ts";
import {
  dayMs,
  historyMs,
  intervalMaxMs,
  minuteMs,
  secondMs,
  unifiedIntervalMaxMs,
} from "../src/contract/time.ts";
import { accountSettings } from "../src/contract/unified-account.ts";
import { serveApi } from "../src/exchange-server/http.ts";
import { type Credential, Refusal } from "../src/exchange-server/source.ts";
import type { LedgerBill, WireBill } from "../src/sandbox/entry.ts";
import { type LedgerOptions, type ModeChange, makeLedger } from "../src/sandbox/ledger.ts";
import { unifiedPlaces, units } from "../src/sandbox/money.ts";
import {
  createSandbox,
  openSandbox,
  type Sandbox,
  type SandboxOptions,
} from "../src/sandbox/sandbox.ts";
import { unheardOfTypes } from "../src/sandbox/schedule.ts";

// What the exchange is known to do. That a sandbox with any quirk of test/faults serves each bill
// once is seen by the simulation, which compares what was stored with the sandbox's ledger.
const start = Date.UTC(2025, 5, 1, 10, 11, 12, 345);
const seeds = ["a", 1];
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
const withKey = (changes: Partial<Credential>, mode = "classic"): Simulated =>
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
      "ACCESS-SIGN": signature(secret, { timestamp, method: "GET", path, query }),
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
const askRecords = (simulated: Simulated, query: Query = {}, changes: Changes = {}) =>
  ask(simulated, financialRecords.path, { category: "SPOT", ...query }, changes);

/** As sent by a client that writes the path to the wire without encoding it. */
async function getAsIs(url: string, path: string, headers: Record<string, string>) {
  const [response] = (await once(get(url, { path, headers }), "response")) as [IncomingMessage];
  return parseExactJson(await text(response)) as Body;
}

describe("a signature of a query that needs encoding", () => {
  const sent =
    `productType=usdt-futures&startTime=${start - dayMs}&limit=100&endTime=${start}` +
    "&coin=U+S%20D/T%3D%26%E6%B0%B8'&businessType=trans_from_exchange";
  const sorted = (coin: string) =>
    `businessType=trans_from_exchange&coin=${coin}&endTime=${start}&limit=100` +
    `&productType=usdt-futures&startTime=${start - dayMs}`;
  test.each([
    ["as it was sent, raw", sent, "00000"],
    ["as it was sent, decoded", decodeURIComponent(sent.replaceAll("+", " ")), "00000"],
    ["sorted and percent-encoded", sorted("U%20S%20D%2FT%3D%26%E6%B0%B8'"), "00000"],
    ["sorted and encoded as a form", sorted("U+S+D%2FT%3D%26%E6%B0%B8%27"), "00000"],
    ["sorted and decoded", sorted("U S D/T=&永'"), "00000"],
    ["in another order", sent.split("&").toReversed().join("&"), "40009"],
    ["of another coin", sorted("USDT"), "40009"],
    ["of no query at all", "", "40009"],
  ])("%s: %j", async (_title, query, code) => {
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
  test.each<[string, Changes, string]>([
    ["without a key", { headers: { "ACCESS-KEY": undefined } }, "40001"],
    ["with an unknown key", { headers: { "ACCESS-KEY": "nobody" } }, "40037"],
    ["from a clock 30.001 s behind", { skewMs: -30_001 }, "40008"],
    ["from a clock 30.001 s ahead", { skewMs: 30_001 }, "40008"],
    ["from a clock 30 s behind", { skewMs: -30_000 }, "00000"],
    ["from a clock 30 s ahead", { skewMs: 30_000 }, "00000"],
  ])("%s is answered with %o: %s", async (_title, changes, code) => {
    const answer = await askBills(simulation(), {}, changes);
    expect(answer).toMatchObject({ status: code === "00000" ? 200 : 400, code });
  });

  // The exchange's rule for demo keys and their header, and for the product types of a live account.
  test.each([
    ["live", undefined, "USDT-FUTURES", "00000"],
    ["live", undefined, "SUSDT-FUTURES", "00000"],
    ["live", "1", "USDT-FUTURES", "40099"],
    ["demo", "1", "USDT-FUTURES", "00000"],
    ["demo", "1", "SUSDT-FUTURES", "40099"],
    ["demo", undefined, "USDT-FUTURES", "40099"],
    ["both", "1", "SCOIN-FUTURES", "40099"],
  ] as const)(
    "with a %s key and paptrading %s for bills of %s is answered with %s",
    async (environment, paptrading, productType, code) => {
      const simulated = withKey({ environment });
      expect((await askBills(simulated, { productType }, { headers: { paptrading } })).code).toBe(
        code,
      );
    },
  );
});

describe("a query", () => {
  const span = (ms: number) => ({ startTime: String(start - ms), endTime: String(start) });

  test.each<[string, Query, string]>([
    ["of an unknown product type", { productType: "SPOT" }, "400172"],
    ["of more than 100", { limit: "101" }, "40020"],
    ["of none", { limit: "0" }, "40020"],
    ["with a coin and no businessType", { coin: "USDT" }, "40020"],
    ["with a coin and a trade", { coin: "USDT", businessType: "buy" }, "40020"],
    ["with an unknown parameter", { idGreaterThan: "1" }, "40034"],
    ["with another word than yes or no", { onlyFunding: "maybe" }, "40020"],
    ["with a date for a time", { startTime: "2025-06-01" }, "40020"],
    ["with a cursor that is no id", { idLessThan: "1e3" }, "40020"],
    ["over 7 days and 1 ms", span(intervalMaxMs + 1), "43111"],
    ["that ends before it starts", span(-1), "43111"],
  ])("for bills %s is refused", async (_title, query, code) => {
    expect(await askBills(simulation(), query)).toMatchObject({ status: 400, code, data: null });
  });

  test.each<[string, Query, string]>([
    ["without a category", { category: "" }, "400172"],
    ["of an unknown one", { category: "FUTURES" }, "400172"],
    ["of more than 100", { limit: "101" }, "40020"],
    ["with an unknown parameter", { idLessThan: "1" }, "40034"],
    ["with a cursor that is no id", { cursor: "1e3" }, "40020"],
    ["over 30 days and 1 ms", span(unifiedIntervalMaxMs + 1), "43111"],
  ])("for records %s is refused", async (_title, query, code) => {
    expect(await askRecords(unified(), query)).toMatchObject({ status: 400, code });
  });

  test("for bills needs a product type, and is answered with 20 rows unless it says how many", async () => {
    expect(await codeOf(simulation(), accountBills.path)).toBe("40019");
    for (const [query, count] of [
      [{}, 20],
      [{ limit: "7" }, 7],
    ] as const) {
      const { data } = await askBills(simulation(), query);
      expect((data as { bills: unknown[] }).bills).toHaveLength(count);
    }
  });
});

describe("the other operations", () => {
  test("loan-to-value serves an account's own unit, the named one, and v3's, as its mode is", async () => {
    const simulated = simulation();
    const [riskUnitId = ""] = simulated.sandbox.account.riskUnitIds;
    const { data } = await ask(simulated, loanToValue.path);
    expect((await ask(simulated, loanToValue.path, { riskUnitId })).data).toEqual(data);
    expect(await codeOf(simulated, loanToValue.path, { riskUnitId: "1" })).toBe("40020");
    expect(await codeOf(simulation({ isParent: true }), loanToValue.path)).toBe("40019");
    expect(await codeOf(unified(), loanToValue.path)).toBe("40085");
    expect((await ask(unified(), unifiedLoanToValue.path)).data).toHaveProperty("usdtBalance");
  });

  test("an unknown path and another method are refused with an envelope", async () => {
    const missing = await ask(simulation(), "/api/v3/nothing");
    expect([missing.status, missing.requestTime]).toEqual([404, start]);
    expect((await ask(simulation(), symbols.path, {}, { method: "POST" })).status).toBe(405);
  });
});

describe("the mode of an account", () => {
  // Bills of v2; records, settings and info of v3.
  const answersOf = async (simulated: Simulated) => [
    (await askBills(simulated)).code,
    (await askRecords(simulated)).code,
    await codeOf(simulated, accountSettings.path),
    await codeOf(simulated, keyInfo.unified.path),
  ];
  test.each([
    ["classic", ["00000", "40084", "40084", "40084"]],
    ["unified", ["40085", "00000", "00000", "00000"]],
    ["hybrid", ["40085", "00000", "00000", "00000"]],
    ["upgrading", ["40085", "40084", "00000", "00000"]],
    ["switching", ["40085", "40084", "00000", "00000"]],
    ["a word unheard of", ["40085", "40084", "00000", "00000"]],
  ])(
    "%s opens the one API and not the other, also when it comes about meanwhile",
    async (mode, codes) => {
      expect(await answersOf(simulation({ modes: always(mode) }))).toEqual(codes);
      const before = mode === "classic" ? "unified" : "classic";
      const simulated = simulation({
        modes: [...always(before), { at: start + minuteMs, mode }],
      });
      expect(await answersOf(simulated)).not.toEqual(codes);
      simulated.clock.now += minuteMs;
      expect(await answersOf(simulated)).toEqual(codes);
    },
  );

  test("is looked at before the signature, which so proves nothing", async () => {
    const headers = { "ACCESS-SIGN": "wrong", "ACCESS-PASSPHRASE": "wrong" };
    expect((await askBills(unified(), {}, { headers })).code).toBe("40085");
    expect(await codeOf(simulation(), accountSettings.path, {}, { headers })).toBe("40084");
    expect(await codeOf(unified(), accountSettings.path, {}, { headers })).toBe("40036");
  });
});

describe("a key", () => {
  test("of a unified account without the right to manage reads neither settings nor records", async () => {
    const simulated = withKey({ permissions: ["bills"] }, "unified");
    expect(await codeOf(simulated, accountSettings.path)).toBe("40014");
    expect((await askRecords(simulated)).code).toBe("40014");
  });

  test("may be refused a product type that others may read, in other codes too", async () => {
    const refused = new Map([["UTA-MARGIN", new Refusal(400, "40014", "no right")]] as const);
    const simulated = withKey({ refused }, "unified");
    expect((await askRecords(simulated, { category: "MARGIN" })).code).toBe("40014");
    expect((await askRecords(simulated)).code).toBe("00000");
    expect((await askBills(withKey({ permissions: [] }))).code).toBe("40014");
    const elite = withKey({ unifiedRefusal: "40731" }, "unified");
    expect((await askBills(elite)).code).toBe("40731");
    expect((await askRecords(withKey({ classicRefusal: "25245" }))).code).toBe("25245");
  });

  test.each([
    [accountBills, { productType: "USDT-FUTURES" }, "classic", 10],
    [financialRecords, { category: "OTHER" }, "unified", 20],
    [accountSettings, {}, "unified", 20],
    [keyInfo.unified, {}, "unified", 5],
    [unifiedLoanToValue, {}, "unified", 3],
  ] as const)(
    "may ask for $name %o of a %s account %i times a second, from whatever address",
    async ({ path }, query, mode, most) => {
      const simulated = simulation({ modes: always(mode) });
      const codes: string[] = [];
      for (let count = 0; count <= most; count++)
        codes.push(await codeOf(simulated, path, query, { clientAddress: `10.0.0.${count}` }));
      expect(codes).toEqual([...Array.from({ length: most }, () => "00000"), "429"]);
    },
  );
});

describe("a limit", () => {
  /** The statuses of requests for bills that arrive at these times after the start. */
  async function statusesAt(times: readonly number[], options: Partial<SandboxOptions> = {}) {
    const simulated = simulation(options);
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

describe("over HTTP", () => {
  test("a thrown error is a 500 in an envelope that tells nothing of it", async () => {
    const errors: unknown[] = [];
    const answer = async () => {
      throw new Error("the password is hunter2");
    };
    await using server = await serveApi(answer, { onError: (error) => errors.push(error) });
    const response = await fetch(server.url);
    expect([response.status, errors.length]).toEqual([500, 1]);
    const body = await response.text();
    expect(body).not.toContain("hunter2");
    expect(JSON.parse(body)).toMatchObject({ code: "40015", data: null });
  });

  test("a head past 16 KiB is refused and the server goes on; disposed of, it takes no more", async () => {
    const sandbox = await openSandbox({ seed: 1, density: 0.1 });
    expect((await fetch(`${sandbox.url}/?${"x".repeat(20_000)}`)).status).toBe(431);
    expect((await fetch(`${sandbox.url}${symbols.path}`)).status).toBe(200);
    await sandbox[Symbol.asyncDispose]();
    await expect(fetch(sandbox.url)).rejects.toThrow();
  });
});

const ledgerOf = (options: Partial<LedgerOptions> = {}) =>
  makeLedger({ seed: 1, now: start, ...options });
const unifiedLedgerOf = (options: Partial<LedgerOptions> = {}) =>
  ledgerOf({ modes: always("unified"), ...options });
type AccountBills = ReturnType<typeof makeLedger>;
type Placed = LedgerBill & { readonly productType: ProductType };
const billsOf = ({ bills }: AccountBills, types: readonly ProductType[]): readonly Placed[] =>
  types.flatMap((productType) => bills[productType].map((bill) => ({ ...bill, productType })));
const rowOf = ({ row }: LedgerBill): WireBill => row as WireBill;
const money = (bill: LedgerBill, field: string): bigint =>
  units(String(rowOf(bill)[field] || "0"), unifiedPlaces);
const bookedAt = ({ billId }: LedgerBill): number =>
  Number((BigInt(billId) >> 22n) + 1_435_725_920_677n);

describe("a ledger", () => {
  test("has ids that hold their time, and repeat where the exchange's may", () => {
    const bills = billsOf(ledgerOf(), classicProductTypes);
    expect(bills.filter((bill) => bookedAt(bill) !== bill.cTime)).toEqual([]);
    const countOf = (ledger: AccountBills, types: readonly ProductType[], withType = false) =>
      new Set(
        billsOf(ledger, types).map(({ billId, productType }) =>
          withType ? `${productType} ${billId}` : billId,
        ),
      ).size;
    const reused = unifiedLedgerOf({ unified: { areIdsReused: true } });
    const count = billsOf(reused, unifiedProductTypes).length;
    expect(countOf(ledgerOf(), classicProductTypes)).toBeLessThan(bills.length);
    expect(countOf(ledgerOf(), classicProductTypes, true)).toBe(bills.length);
    expect(countOf(reused, unifiedProductTypes)).toBeLessThan(count);
    expect(countOf(reused, unifiedProductTypes, true)).toBe(count);
    expect(countOf(unifiedLedgerOf(), unifiedProductTypes)).toBe(
      billsOf(unifiedLedgerOf(), unifiedProductTypes).length,
    );
    const [one, other] = [0, 1023].map((account) =>
      billsOf(ledgerOf({ seed: account, account }), classicProductTypes),
    );
    const [ids, times] = [
      new Set(one?.map(({ billId }) => billId)),
      new Set(one?.map(({ cTime }) => cTime)),
    ];
    expect(other?.filter(({ cTime }) => times.has(cTime)).length).toBeGreaterThan(10);
    expect(other?.filter(({ billId }) => ids.has(billId))).toEqual([]);
  });

  test.each(seeds)("has all that is hard to read (seed %s)", (seed) => {
    const types = classicProductTypes;
    const bills = billsOf(ledgerOf({ seed }), types);
    const usdt = bills.filter(({ productType }) => productType === "USDT-FUTURES");
    const served = new Set(
      usdt
        .filter(({ cTime }) => cTime > start - historyMs && cTime < start)
        .map(({ businessType }) => businessType),
    );
    const kinds = [...businessTypes.map(({ code }) => code), ...unheardOfTypes];
    expect(kinds.filter((code) => !served.has(code))).toEqual([]);
    const edges = Array.from({ length: 13 }, (_, week) => start - historyMs + week * intervalMaxMs);
    const unifiedEdges = [0, 30, 60, 90].map((days) => start - historyMs + days * dayMs);
    for (const [ledger, ofTypes, at] of [
      [ledgerOf({ seed }), types, edges],
      [unifiedLedgerOf({ seed }), unifiedProductTypes, unifiedEdges],
    ] as const)
      for (const type of ofTypes) {
        const times = new Set<number>(ledger.bills[type].map(({ cTime }) => cTime));
        const beside = at.flatMap((edge) => [edge - 1, edge, edge + 1]);
        expect(beside.filter((time) => !times.has(time))).toEqual([]);
      }
    for (const crowd of [usdt, billsOf(unifiedLedgerOf({ seed }), unifiedProductTypes)])
      expect(
        Math.max(
          ...Map.groupBy(crowd, ({ cTime }) => cTime)
            .values()
            .map(({ length }) => length),
        ),
      ).toBeGreaterThan(100);
    const lateness = bills.map(({ cTime, visibleAt }) => visibleAt - cTime);
    expect(Math.min(...lateness)).toBe(0);
    expect(Math.max(...lateness)).toBeLessThanOrEqual(10 * minuteMs);
    const late = lateness.filter((lateMs) => lateMs > 0).length;
    expect(late).toBeGreaterThan(6);
    expect(late).toBeLessThan(lateness.length / 20);
    const soon = usdt.filter(
      ({ visibleAt }) => visibleAt > start && visibleAt < start + 10 * minuteMs,
    );
    expect(soon.length).toBeGreaterThan(3);
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

  test.each(seeds)("of a unified account has its own oddities (seed %s)", (seed) => {
    const positionsSince = start - 40 * dayMs;
    const bills = billsOf(
      unifiedLedgerOf({ seed, unified: { positionsSince } }),
      unifiedProductTypes,
    );
    const ofType = (pattern: RegExp) =>
      bills.filter(({ businessType }) => pattern.test(businessType));
    expect(
      ofType(/TRANSFER/).filter(
        ({ businessType, productType }) =>
          productType !== "UTA-OTHER" && businessType !== "LIQ_TRANSFER_IN",
      ),
    ).toEqual([]);
    const fills = ofType(/^ORDER_DEALT/).filter(({ productType }) => productType === "UTA-SPOT");
    expect(fills.filter((bill) => money(bill, "fee") < 0n).length).toBeGreaterThan(100);
    expect(fills.filter((bill) => money(bill, "fee") > 0n)).toEqual([]);
    const fees = ofType(/^ORDER_PLF_FEE_OUT$/).filter(({ coin }) => coin === "BGB");
    expect(fees.length).toBeGreaterThan(20);
    expect(fees.filter((bill) => money(bill, "fee") !== 0n || money(bill, "amount") >= 0n)).toEqual(
      [],
    );
    // Funding on the hour has ids of 1 to 2 s later, when it begins to be served.
    const funding = ofType(/^CONTRACT_MAIN_SETTLE_FEE/).filter(
      ({ cTime }) => cTime % (8 * 3_600_000) === 0,
    );
    expect(funding.length).toBeGreaterThan(300);
    for (const bill of funding) {
      const bookedMs = bookedAt(bill) - bill.cTime;
      expect(bookedMs).toBeGreaterThanOrEqual(secondMs);
      expect(bookedMs).toBeLessThanOrEqual(2 * secondMs);
      expect(bill.visibleAt).toBeGreaterThanOrEqual(bill.cTime + bookedMs);
    }
    expect(bills.some((bill) => /\.\d{16}$/.test(String(rowOf(bill)["balance"])))).toBe(true);
    expect(
      bills.filter((bill) =>
        ["positionType", "positionAmount", "positionBalance"].some(
          (field) => field in rowOf(bill) !== bill.cTime >= positionsSince,
        ),
      ),
    ).toEqual([]);
  });

  test("of an account that becomes unified and classic again takes its money along, both ways", () => {
    const [begins, leaves] = [start - 40 * dayMs, start - 10 * dayMs];
    const [isUnified, isClassic] = [begins + minuteMs, leaves + minuteMs];
    const { bills } = ledgerOf({
      modes: [
        ...always("classic"),
        { at: begins, mode: "upgrading" },
        { at: isUnified, mode: "unified" },
        { at: leaves, mode: "switching" },
        { at: isClassic, mode: "classic" },
      ],
    });
    for (const type of [...classicProductTypes, ...unifiedProductTypes]) {
      const [from, to] = type.startsWith("UTA") ? [isUnified, leaves] : [begins, isClassic];
      const inside = bills[type].filter(({ cTime }) => cTime >= from && cTime < to);
      expect(inside).toHaveLength(type.startsWith("UTA") ? bills[type].length : 0);
      expect(new Set(bills[type].map(({ billId }) => billId)).size).toBe(bills[type].length);
    }
    const amountAt = (type: ProductType, time: number) => {
      const bill = bills[type].find(({ cTime, coin }) => cTime === time && coin === "USDT");
      return money(bill as LedgerBill, "amount");
    };
    expect(amountAt("UTA-OTHER", isUnified)).toBe(-amountAt("USDT-FUTURES", begins - 1));
    expect(amountAt("USDT-FUTURES", isClassic)).toBe(-amountAt("UTA-OTHER", leaves - 1));
  });
});
