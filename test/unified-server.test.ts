import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { financialRecords } from "../src/contract/financial-records.ts";
import { parseExactJson } from "../src/contract/json.ts";
import { keyInfo } from "../src/contract/key-info.ts";
import { loanToValue, unifiedLoanToValue } from "../src/contract/loan-to-value.ts";
import type { Query } from "../src/contract/operation.ts";
import { categoryOf, unifiedProductTypes } from "../src/contract/product-types.ts";
import { signature } from "../src/contract/signature.ts";
import { dayMs, historyMs, minuteMs, unifiedIntervalMaxMs } from "../src/contract/time.ts";
import { accountSettings } from "../src/contract/unified-account.ts";
import { readUnifiedBill } from "../src/contract/unified-bill.ts";
import { type Credential, Refusal } from "../src/exchange-server/source.ts";
import type { ModeChange } from "../src/sandbox/modes.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { servedBills } from "../src/sandbox/source.ts";
import { type Quirks, quirky } from "./faults/quirks.ts";

const start = Date.UTC(2026, 3, 30, 23, 59, 58, 765);
const always = (mode: string): readonly ModeChange[] => [{ at: Number.NEGATIVE_INFINITY, mode }];

type Simulated = { readonly clock: { now: number }; readonly sandbox: Sandbox };

/** A sandbox whose clock the test moves. */
function simulation(options: Partial<SandboxOptions> = {}): Simulated {
  const clock = { now: start };
  const sandbox = createSandbox({
    seed: 1,
    density: 0.3,
    modes: always("unified"),
    ...options,
    now: () => clock.now,
  });
  return { clock, sandbox };
}

type Body = { code: string; msg: string; requestTime: number; data: unknown };

async function ask(
  { sandbox: { account, answer }, clock }: Simulated,
  path: string,
  query: Query = {},
  changes: Readonly<Record<string, string>> = {},
) {
  const timestamp = String(Math.floor(clock.now));
  const { body, status } = await answer({
    method: "GET",
    path,
    query,
    headers: {
      "ACCESS-KEY": account.apiKey,
      "ACCESS-SIGN": signature(account.apiSecret, { timestamp, method: "GET", path, query }),
      "ACCESS-PASSPHRASE": account.apiPassphrase,
      "ACCESS-TIMESTAMP": timestamp,
      ...changes,
    },
    clientAddress: "10.0.0.1",
  });
  return { status, ...(parseExactJson(body) as Body) };
}

const codeOf = async (...given: Parameters<typeof ask>): Promise<string> =>
  (await ask(...given)).code;

const askBills = (simulated: Simulated, headers = {}) =>
  codeOf(simulated, accountBills.path, { productType: "USDT-FUTURES" }, headers);
const askRecords = (simulated: Simulated, query: Query = {}, headers = {}) =>
  ask(simulated, financialRecords.path, { category: "SPOT", ...query }, headers);

describe("the mode of an account", () => {
  // Bills of v2; records, settings and info of v3.
  const gates = [
    ["classic", ["00000", "40084", "40084", "40084"]],
    ["unified", ["40085", "00000", "00000", "00000"]],
    ["hybrid", ["40085", "00000", "00000", "00000"]],
    ["upgrading", ["40085", "40084", "00000", "00000"]],
    ["switching", ["40085", "40084", "00000", "00000"]],
    ["a word unheard of", ["40085", "40084", "00000", "00000"]],
  ] as const;
  test.each(gates)("%s opens the one API and not the other", async (mode, codes) => {
    const simulated = simulation({ modes: always(mode) });
    expect([
      await askBills(simulated),
      (await askRecords(simulated)).code,
      await codeOf(simulated, accountSettings.path),
      await codeOf(simulated, keyInfo.unified.path),
    ]).toEqual(codes);
  });

  test("is looked at before the signature, which so proves nothing", async () => {
    const wrong = { "ACCESS-SIGN": "wrong", "ACCESS-PASSPHRASE": "wrong" };
    expect(await askBills(simulation(), wrong)).toBe("40085");
    const classic = simulation({ modes: always("classic") });
    expect(await codeOf(classic, accountSettings.path, {}, wrong)).toBe("40084");
    expect(await codeOf(simulation(), accountSettings.path, {}, wrong)).toBe("40036");
  });

  test("is told by the settings, and changes while somebody looks", async () => {
    const modes = [
      ...always("classic"),
      { at: start + minuteMs, mode: "upgrading" },
      { at: start + 2 * minuteMs, mode: "unified" },
      { at: start + 3 * minuteMs, mode: "switching" },
      { at: start + 4 * minuteMs, mode: "classic" },
    ];
    const simulated = simulation({ modes });
    const seen: unknown[] = [];
    for (let minute = 0; minute < 5; minute++) {
      const { data } = await ask(simulated, accountSettings.path);
      seen.push([
        (data as { accountMode?: string } | null)?.accountMode,
        await askBills(simulated),
        (await askRecords(simulated)).code,
      ]);
      simulated.clock.now += minuteMs;
    }
    expect(seen).toEqual([
      [undefined, "00000", "40084"],
      ["upgrading", "40085", "40084"],
      ["unified", "40085", "00000"],
      ["switching", "40085", "40084"],
      [undefined, "00000", "40084"],
    ]);
  });

  test("has other codes for an elite trader's key and in another refusal of v3", async () => {
    const altered = (changes: Partial<Credential>, mode: string) =>
      simulation({ modes: always(mode), alterCredential: (given) => ({ ...given, ...changes }) });
    expect(await askBills(altered({ unifiedRefusal: "40731" }, "unified"))).toBe("40731");
    const classic = altered({ classicRefusal: "25245" }, "classic");
    expect((await askRecords(classic)).code).toBe("25245");
  });

  test("differs between the accounts of one exchange", async () => {
    const simulated = simulation({
      accountNames: ["old", "new"],
      modesOf: (name) => always(name === "new" ? "unified" : "classic"),
    });
    const { sandbox, clock } = simulated;
    const codes = await Promise.all(
      sandbox.accounts.map((account) => askBills({ clock, sandbox: { ...sandbox, account } })),
    );
    expect(codes).toEqual(["00000", "40085"]);
  });
});

describe("a key of a unified account", () => {
  const keys: readonly [string, Partial<Credential>, Record<string, string>, string][] = [
    ["without the right to manage", { permissions: ["bills"] }, {}, "40014"],
    ["of a demo account with the header", { environment: "demo" }, { paptrading: "1" }, "00000"],
    ["of a demo account without it", { environment: "demo" }, {}, "40099"],
    ["of a live account with it", {}, { paptrading: "1" }, "40099"],
  ];
  test.each(keys)("%s", async (_title, changes, headers, code) => {
    const simulated = simulation({ alterCredential: (given) => ({ ...given, ...changes }) });
    expect(await codeOf(simulated, accountSettings.path, {}, headers)).toBe(code);
    expect((await askRecords(simulated, {}, headers)).code).toBe(code);
  });

  test("may be refused a product type that others may read", async () => {
    const refused = new Map([["UTA-MARGIN", new Refusal(400, "40014", "no right")]] as const);
    const simulated = simulation({ alterCredential: (given) => ({ ...given, refused }) });
    expect((await askRecords(simulated, { category: "MARGIN" })).code).toBe("40014");
    expect((await askRecords(simulated, { category: "SPOT" })).code).toBe("00000");
  });

  test("is told what it may do, without any right", async () => {
    const info = { permType: "read_and_write", permissions: ["uta_mgt", "withdraw"] };
    const simulated = simulation({
      alterCredential: (given) => ({ ...given, permissions: [], info }),
    });
    const { data } = await ask(simulated, keyInfo.unified.path);
    expect(keyInfo.unified.data.parse(data)).toMatchObject({
      mayOnlyRead: false,
      rights: info.permissions,
      userId: simulated.sandbox.account.uid,
    });
  });

  test.each([
    [financialRecords, 20],
    [accountSettings, 20],
    [keyInfo.unified, 5],
    [unifiedLoanToValue, 3],
  ] as const)("may ask for $name %i times a second", async ({ path }, most) => {
    const simulated = simulation();
    const codes: string[] = [];
    const query: Query = path === financialRecords.path ? { category: "OTHER" } : {};
    for (let asked = 0; asked <= most; asked++) codes.push(await codeOf(simulated, path, query));
    expect(codes.slice(0, most)).toEqual(Array.from({ length: most }, () => "00000"));
    expect(codes.at(-1)).toBe("429");
  });

  test("has loan-to-value by v3 and not by v2", async () => {
    expect(await codeOf(simulation(), loanToValue.path)).toBe("40085");
    const { data } = await ask(simulation(), unifiedLoanToValue.path);
    expect(data).toHaveProperty("usdtBalance");
  });
});

describe("a query for records", () => {
  const refused: readonly [string, Query, string][] = [
    ["without a category", { category: "" }, "400172"],
    ["of an unknown one", { category: "FUTURES" }, "400172"],
    ["of more than 100", { limit: "101" }, "40020"],
    ["with an unknown parameter", { idLessThan: "1" }, "40034"],
    ["with a cursor that is no id", { cursor: "1e3" }, "40020"],
    [
      "over 30 days and 1 ms",
      { startTime: String(start - unifiedIntervalMaxMs - 1), endTime: String(start) },
      "43111",
    ],
  ];
  test.each(refused)("%s is refused", async (_title, query, code) => {
    expect(await askRecords(simulation(), query)).toMatchObject({ status: 400, code });
  });

  test("without any is refused as one without a category", async () => {
    expect(await codeOf(simulation(), financialRecords.path)).toBe("400172");
  });

  test("is answered with rows that are bills, of the category alone, in any case", async () => {
    for (const productType of unifiedProductTypes) {
      const category = categoryOf(productType).toLowerCase();
      const { data } = await askRecords(simulation(), { category });
      const { rows, endId } = financialRecords.data.parse(data);
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter((row) => "fault" in readUnifiedBill(productType, row))).toEqual([]);
      expect(endId).toBe((rows.at(-1) as { id: string }).id);
    }
  });
});

type Row = { id: string; ts: string; type: string; coin: string };

/** Walks a span until an empty page, as a client would. */
async function walk(simulated: Simulated, query: Query): Promise<readonly Row[]> {
  const rows = new Map<string, Row>();
  let cursor: string | undefined;
  for (let page = 0; page < 200; page++) {
    simulated.clock.now += 60;
    const asked = cursor === undefined ? query : { ...query, cursor };
    const { code, data } = await askRecords(simulated, asked);
    expect(code).toBe("00000");
    const read = financialRecords.data.parse(data);
    const before = rows.size;
    for (const row of read.rows as Row[]) rows.set(row.id, row);
    if (rows.size === before || read.endId === undefined) return [...rows.values()];
    cursor = read.endId;
  }
  throw new Error("the walk does not end");
}

describe("every way in which the answers may be", () => {
  const quirks: readonly (readonly [string, Quirks, Partial<SandboxOptions>])[] = [
    ["newest first, by id", {}, {}],
    ["an empty list", { lastPage: "empty-string" }, {}],
    ["no list and no cursor", { lastPage: "null-bills" }, {}],
    ["a list and no cursor", { lastPage: "no-id" }, {}],
    ["the same cursor at the end", { lastPage: "same-id" }, {}],
    ["a cursor that includes its row", { inclusiveCursor: true }, {}],
    ["cursors that are numbers", {}, { numericCursor: true }],
    ["short pages with a cursor", { shortPages: true }, {}],
    ["rows in any order", { pageOrder: "shuffled" }, {}],
  ];
  test.each(quirks)("%s: a walk finds all", async (_title, given, options) => {
    const simulated = simulation({ wrapSource: quirky(given), ...options });
    const query = {
      category: "USDT-FUTURES",
      startTime: String(start - 29 * dayMs),
      endTime: String(start),
      limit: "40",
    };
    const rows = await walk(simulated, query);
    const wanted = servedBills(simulated.sandbox.account.ledger, "UTA-USDT-FUTURES", {
      from: start - 29 * dayMs,
      to: start + 1,
      now: start,
    }).map(({ billId }) => billId);
    expect(wanted.length).toBeGreaterThan(200);
    const found = new Set(rows.map(({ id }) => id));
    expect(wanted.filter((id) => !found.has(id))).toEqual([]);
  });

  test("an empty page was seen as null and null", async () => {
    const simulated = simulation({ wrapSource: quirky({ lastPage: "null-bills" }) });
    const long = { startTime: String(start + dayMs), endTime: String(start + 2 * dayMs) };
    const { data } = await askRecords(simulated, long);
    expect(data).toEqual({ list: null, cursor: null });
  });

  test("what lies behind 90 days is left out, or refused", async () => {
    const query = {
      startTime: String(start - historyMs - dayMs),
      endTime: String(start - historyMs - 1),
    };
    const trimmed = await askRecords(simulation(), query);
    expect(financialRecords.data.parse(trimmed.data).rows).toEqual([]);
    const refusing = await askRecords(
      simulation({ wrapSource: quirky({ pastHorizon: "refuse" }) }),
      query,
    );
    expect(refusing.code).toBe("43111");
  });

  test("classic history is not served by v3, and v2 has it again once the account is back", async () => {
    const modes = [
      ...always("classic"),
      { at: start - 40 * dayMs, mode: "unified" },
      { at: start + dayMs, mode: "classic" },
    ];
    const simulated = simulation({ modes });
    const query = {
      startTime: String(start - 60 * dayMs),
      endTime: String(start - 40 * dayMs - 1),
    };
    expect(await walk(simulated, { category: "OTHER", ...query })).toEqual([]);
    const opening = { startTime: String(start - 40 * dayMs), endTime: String(start - 39 * dayMs) };
    const rows = await walk(simulated, { category: "OTHER", ...opening });
    expect(
      rows.filter(({ ts, type }) => Number(ts) === start - 40 * dayMs && type === "TRANSFER_IN")
        .length,
    ).toBeGreaterThan(5);
    expect(await askBills(simulated)).toBe("40085");
    simulated.clock.now = start + dayMs;
    expect(await askBills(simulated)).toBe("00000");
  });
});
