// No request to the mirror gets a defect, another account's row or a secret; keys, limits, a database that goes
// away or is restarted (3,000 drawn requests; FUZZED=100000 for more).

import { afterAll, beforeAll, expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import { financialRecords } from "../src/core/contract/financial-records.ts";
import { loanToValue } from "../src/core/contract/loan-to-value.ts";
import { signature } from "../src/core/contract/signature.ts";
import { symbols } from "../src/core/contract/symbols.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import { epochMs, hourMs } from "../src/lib/time.ts";
import { integer, pick, type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aMirrorKey, type Mirror, openMirror, signedHeaders } from "./support/mirror.ts";
import { coverLedger } from "./support/stored-ledger.ts";

const now = Date.UTC(2026, 5, 1);
const keys = {
  ours: aMirrorKey("ours", { incomplete: "allow" }),
  theirs: aMirrorKey("theirs", { incomplete: "allow" }),
  narrow: aMirrorKey("ours", { name: "narrow", productTypes: ["USDC-FUTURES"] }),
};
/** Texts that every bill of one account contains, and nothing else. */
const marks = { ours: "OURSUSDT", theirs: "THEIRSUSDT" };

let mirror: Mirror;
beforeAll(async () => {
  const { db, url } = await fileDatabase();
  await inTransaction(db, async (tx) => {
    for (const account of ["ours", "theirs"] as const) {
      for (const productType of ["USDT-FUTURES", "UTA-SPOT"] as const) {
        const ledger = { account, productType };
        const bills = Array.from({ length: 300 }, (_, index) =>
          aBill({
            billId: String(10n ** 18n + BigInt(index)),
            symbol: marks[account],
            cTime: epochMs(now - hourMs * index),
          }),
        );
        await upsertBills(tx, [{ ledger, bills }]);
        await coverLedger(tx, ledger, now - 300 * hourMs, now);
      }
    }
  });
  mirror = openMirror(url, { keys: Object.values(keys), now: () => now });
});
afterAll(() => mirror[Symbol.asyncDispose]());

const { path } = accountBills;
const ask = { productType: "USDT-FUTURES" };

/** The headers of a request, with the test's changes; undefined leaves a header out. */
function signed(
  url: string,
  key: (typeof keys)["ours"],
  but: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const [path = "", query = ""] = url.split("?");
  const given = Object.fromEntries(new URLSearchParams(query));
  const headers = { ...signedHeaders(key, String(mirror.tick()), path, given), ...but };
  return JSON.parse(JSON.stringify(headers));
}

let addresses = 0;
/** An address that was not used before. */
const anAddress = () => `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses++ & 255}`;

async function codeOf(url: string, headers: Record<string, string>, remoteAddress = anAddress()) {
  const answer = await mirror.app.inject({ method: "GET", url, headers, remoteAddress });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    ...answer.json<{ code: string; msg: string }>(),
  };
}

const oneUrl = `${path}?productType=USDT-FUTURES&limit=1`;

test.each([
  ["access-key", undefined, "40001"],
  ["access-key", "mirror_00", "40037"],
  ["access-sign", undefined, "40003"],
  ["access-sign", "AAAA", "40009"],
  ["access-passphrase", undefined, "40011"],
  ["access-passphrase", "x", "40036"],
  ["access-timestamp", "soon", "40005"],
  ["access-timestamp", String(now - 31_000), "40008"],
])("a request with the %s %s is refused with %s", async (name, value, code) => {
  const headers = signed(oneUrl, keys.ours, { [name]: value });
  expect(await codeOf(oneUrl, headers)).toMatchObject({ status: 400, code });
});

test("a key reads its account's bills and nothing beside, and no parameter twice", async () => {
  const own = await mirror.ask(keys.ours, path, ask);
  expect(own.text).toContain(marks.ours);
  expect(own.text).not.toContain(marks.theirs);
  const narrow = await mirror.ask(keys.narrow, path, ask);
  expect([narrow.status, narrow.body.code]).toEqual([400, "40014"]);
  expect((await mirror.ask(keys.narrow, loanToValue.path, {})).body.code).toBe("40014");
  const twice = `${oneUrl}&limit=2`;
  const headers = signed(twice, keys.ours);
  const timestamp = headers["access-timestamp"] ?? "";
  headers["access-sign"] = signature(keys.ours.apiSecret, { timestamp, path: twice, query: {} });
  expect(await codeOf(twice, headers)).toMatchObject({ status: 400, code: "40020" });
});

test("a key has 100 requests in a second, and another key has its own", async () => {
  mirror.tick();
  const headers = signed(oneUrl, keys.ours);
  // All at one moment, since the clock stands still between ticks.
  const answers = await Promise.all(Array.from({ length: 105 }, () => codeOf(oneUrl, headers)));
  const refused = answers.filter(({ status }) => status === 429);
  // The previous test's requests were in the same second.
  expect(refused.length).toBeGreaterThanOrEqual(5);
  expect(refused.length).toBeLessThan(60);
  expect(refused[0]?.headers["retry-after"]).toBe("1");
  expect((await codeOf(oneUrl, signed(oneUrl, keys.theirs))).status).toBe(200);
});

test("an address is told why 20 times a minute, has 20 public lists in a second, and a good signature from it is served", async () => {
  const address = anAddress();
  const codes: string[] = [];
  const statuses: number[] = [];
  for (let tried = 0; tried < 22; tried++) {
    const headers = signed(oneUrl, keys.theirs, { "access-sign": "wrong" });
    codes.push((await codeOf(oneUrl, headers, address)).code);
  }
  for (let tried = 0; tried < 21; tried++)
    statuses.push((await codeOf(symbols.path, {}, address)).status);
  expect(codes).toEqual([...Array.from({ length: 20 }, () => "40009"), "429", "429"]);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  expect((await codeOf(oneUrl, signed(oneUrl, keys.theirs), address)).status).toBe(200);
});

test("a character that no text in the database can hold is its sender's fault, wherever it stands", async () => {
  const before = mirror.lines.length;
  const open = [
    "/api/v2/spot/public/symbols?symbol=%00",
    "/api/v2/mix/market/contracts?productType=USDT-FUTURES&symbol=a%00b",
    "/?account=%00",
    "/bills?account=%00",
    "/export?format=csv&account=%00",
  ].map((url) => mirror.app.inject({ method: "GET", url }));
  for (const { statusCode, body } of await Promise.all(open)) {
    expect(statusCode).toBe(400);
    expect(JSON.parse(body)).toMatchObject({ code: "40020" });
  }
  const { status } = await mirror.ask(keys.theirs, path, { ...ask, symbol: "\u0000" });
  expect(status).toBe(400);
  expect(JSON.stringify(mirror.lines.slice(before))).not.toContain("failed");
  // The three characters "%00" are a text without NUL.
  const percent = await mirror.ask(keys.theirs, path, { ...ask, symbol: "%00" });
  expect([percent.status, percent.body.data]).toEqual([200, { bills: [], endId: "" }]);
});

/** How many requests are drawn. FUZZED=100000 draws more. */
const fuzzed = Number(process.env["FUZZED"] ?? 3_000);

test(`of ${fuzzed} requests of any kind none gets a defect, another account's row or a secret`, async () => {
  const random = seededRandom("requests");
  const seen: Record<string, number> = {};
  const secrets = Object.values(keys).flatMap(({ apiSecret, apiPassphrase }) => [
    apiSecret,
    apiPassphrase,
  ]);
  const before = mirror.lines.length;
  for (let drawn = 0; drawn < fuzzed; drawn++) {
    const { request, key } = draw(random);
    const answer = await mirror.app.inject({ ...request, remoteAddress: anAddress() });
    const shown = () =>
      `${drawn}: ${JSON.stringify(request)} gave ${answer.statusCode} ${answer.body}`;
    if (answer.statusCode >= 500) expect(answer.body, shown()).toContain("40725");
    // The database answers all the time.
    expect(answer.body.includes("The database does not answer"), shown()).toBe(false);
    const holdsRows = (mark: string) => answer.body.includes(`"symbol":"${mark}"`);
    if (holdsRows(marks.ours)) expect(key, shown()).toBe("ours");
    if (holdsRows(marks.theirs)) expect(key, shown()).toBe("theirs");
    for (const secret of secrets) expect(answer.body.includes(secret), shown()).toBe(false);
    seen[answer.statusCode] = (seen[answer.statusCode] ?? 0) + 1;
  }
  for (const status of ["200", "400", "404"])
    expect(seen[status], JSON.stringify(seen)).toBeGreaterThan(50);
  const logged = JSON.stringify(mirror.lines.slice(before));
  for (const secret of secrets) expect(logged.includes(secret)).toBe(false);
  expect(logged).not.toMatch(/"defect"|failed"/);
}, 3_600_000);

const paths = [path, path, path, financialRecords.path, loanToValue.path, symbols.path];
const otherPaths = [
  "/api/v2/mix/market/contracts",
  "/api/v3/account/settings",
  "/api/v2/public/time",
  "/readyz",
  "/metrics",
  "/bills",
  "/export",
];
const names = (
  "productType category symbol coin marginCoin businessType type onlyFunding idLessThan cursor startTime" +
  " endTime limit riskUnitId __proto__ account product format from before"
).split(" ");
const words =
  "USDT-FUTURES usdt-futures SPOT spot USDT yes 1 100 1000 1001 0 -1 99999999999999999999999" +
  " 18446744073709551616 1e3 0x10 NaN null true % %00 %F0%28 注文🧾 [] {} 253402300800000" +
  " 1000000000000000100 theirs";
const values = [
  ...words.split(" "),
  ...["", "' or 1=1 --", "\u0000", "\ud800", "9".repeat(41), "a".repeat(300), "a".repeat(9_000)],
  ...[String(now), String(now - 200 * hourMs), marks.theirs],
];

function draw(random: Random) {
  const isSound = random() < 0.4;
  const pairs = Array.from(
    { length: isSound ? integer(random, 0, 2) : integer(random, 0, 6) },
    () => [pick(random, names), pick(random, values)],
  );
  const path = pick(random, random() < 0.85 ? paths : otherPaths);
  if (random() < 0.7) pairs.push(["productType", "USDT-FUTURES"]);
  if (path === financialRecords.path && random() < 0.9) pairs.push(["category", "SPOT"]);
  const query = pairs.map(([name = "", value = ""]) => `${name}=${spell(random, value)}`).join("&");
  const target = random() < 0.9 ? path : mangled(random, path);
  const url = query === "" && random() < 0.5 ? target : `${target}?${query}`;
  const method =
    random() < 0.85
      ? "GET"
      : pick(random, ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"] as const);
  const key = pick(random, ["ours", "theirs", "narrow"] as const);
  const headers = headersOf(random, { url, method, key });
  const body = random() < 0.1 ? { payload: pick(random, ["{", "x".repeat(2_000), "{}"]) } : {};
  return { request: { method, url, headers, ...body }, key };
}

const spell = (random: Random, value: string): string => {
  const draw = random();
  if (draw < 0.7) return encodeURIComponent(value.toWellFormed());
  return draw < 0.85
    ? value.replaceAll(/[^!-~]/g, "?").replaceAll(/[&=#]/g, "")
    : value.replaceAll(/\P{ASCII}|\0/gu, "%zz");
};

const mangled = (random: Random, path: string): string =>
  pick(random, [
    ...[`/${path}`, `${path}/`, path.toUpperCase(), path.replace("account", "%61ccount")],
    ...[`${path}%00`, "/%", "/%E0%A4%A", "/..%2f..%2fetc/passwd", "/mirror-keys.json", "/.env"],
    `/${"a".repeat(5_000)}`,
  ]);

type Target = { readonly url: string; readonly method: string; readonly key: keyof typeof keys };

function headersOf(random: Random, { url, key }: Target): Record<string, string> {
  const timestamp = String(mirror.tick() + (random() < 0.9 ? 0 : integer(random, -60_000, 60_000)));
  const headers: Record<string, string> = signedHeaders(keys[key], timestamp, url, {});
  if (random() < 0.25)
    headers[pick(random, Object.keys(headers))] = pick(random, values).replaceAll(/[^ -~]/g, "");
  if (random() < 0.1) headers["paptrading"] = "1";
  if (random() < 0.1)
    headers["content-type"] = pick(random, ["application/json", "x/y", "text/plain"]);
  if (random() < 0.1) delete headers[pick(random, Object.keys(headers))];
  return headers;
}
