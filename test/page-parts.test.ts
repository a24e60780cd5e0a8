import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { decimalOf } from "../src/export/decimal.ts";
import { axisOf, chart } from "../src/page/chart.ts";
import {
  allDigits,
  amount,
  daysText,
  movement,
  percentage,
  roundedTo,
  timeTag,
} from "../src/page/format.ts";
import { html, joined } from "../src/page/html.ts";
import type { Period } from "../src/page/periods.ts";
import { type Figures, pieceNames } from "../src/page/pieces.ts";
import {
  askedIn,
  type Days,
  missedIn,
  queryOf,
  selectionOf,
  type Wallet,
  walletValue,
} from "../src/page/selection.ts";

const shown = { coin: "USDT", isExact: false };
const textOf = (markup: { readonly text: string }) => markup.text.replaceAll(/<[^>]*>/g, "");

test("no text becomes markup, wherever it stands in a template", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 30 }), (text) => {
      const { text: markup } = html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`;
      const bare = markup.replace(/^<p title="/, "").replace(/<b>|<\/b>|<\/p>|">/g, "");
      expect(bare).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/);
      expect(bare).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[^\P{Cc}\n]/u);
    }),
  );
  expect(joined([html`<b>1</b>`, "<2>"], html`<br>`).text).toBe("<b>1</b><br>&lt;2&gt;");
});

test("every value of an attribute stands in quotes, and markup is made by html alone", () => {
  const sources = globSync("src/page/**/*.ts").map((path) => readFileSync(path, "utf8"));
  expect(sources.length).toBeGreaterThan(5);
  expect(sources.filter((text) => /<[^>]*\s[\w-]+=\$\{/.test(text))).toEqual([]);
  expect(sources.filter((text) => /\bnew Html\(/.test(text))).toHaveLength(1);
});

test.each([
  ["1234567.891", "USDT", "1,234,567.89", "+1,234,567.89", "1,234,567.891"],
  ["-0.00731099", "BTC", "−0.007311", "−0.007311", "−0.00731099"],
  ["-277.91320018", "USDT", "−277.91", "−277.91", "−277.91320018"],
  ["0.125", "SUSDT", "0.13", "+0.13", "0.125"],
  ["-0.001", "USDC", "−0.00", "−0.00", "−0.001"],
  ["12", "XRP", "12.0000", "+12.0000", "12"],
  ["0.00000000", "ETH", "0.000000", "–", "0.00000000"],
  ["0", "USDT", "0.00", "–", "0"],
])("%s %s is shown as %s, moved as %s, and exactly as %s", (decimal, coin, ...texts) => {
  const balance = amount(decimal, { ...shown, coin });
  const moved = movement(decimal, { ...shown, coin });
  const exact = amount(decimal, { coin, isExact: true });
  expect([balance, moved, exact].map(textOf)).toEqual(texts);
  expect(balance.text).toContain(`value="${decimal}"`);
});

test.each([
  ["0.1673", "16.73 %"],
  ["0.05", "5.00 %"],
  ["1.2", "120.00 %"],
  ["0.123456", "12.35 %"],
  ["-0.5", "−50.00 %"],
])("the ratio %s is shown as %s", (ratio, text) => {
  expect(percentage(ratio)).toBe(text);
});

test.each([
  ["2026-08-28", "2026-11-25", "28 Aug – 25 Nov 2026"],
  ["2025-12-28", "2026-01-02", "28 Dec 2025 – 2 Jan 2026"],
  ["2026-08-26", "2026-08-31", "26 – 31 Aug 2026"],
  ["2026-02-01", "2026-02-28", "Feb 2026"],
  ["2024-02-01", "2024-02-28", "1 – 28 Feb 2024"],
  ["2026-11-25", "2026-11-25", "25 Nov 2026"],
])("the days %s to %s are %s", (from, to, text) => {
  expect(daysText({ from, to })).toBe(text);
});

test("what is not known is not zero", () => {
  expect(textOf(amount(null, shown))).toBe("unknown");
  expect(textOf(timeTag(undefined))).toBe("unknown");
  expect(textOf(timeTag(epochMs(Date.UTC(2026, 10, 22, 1, 9, 59))))).toBe("2026-11-22 01:09Z");
});

test("rounding changes a number by at most half of a place, and all digits are all digits", () => {
  const decimals = fc.tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(18));
  fc.assert(
    fc.property(decimals, fc.nat(8), ([units, scale], places) => {
      const rounded = roundedTo({ units, scale }, places);
      expect(rounded.scale).toBe(places);
      const apart = rounded.units * 10n ** BigInt(scale) - units * 10n ** BigInt(places);
      expect((apart < 0n ? -apart : apart) * 2n).toBeLessThanOrEqual(10n ** BigInt(scale));
    }),
  );
  const back = allDigits("-1234567.000").replaceAll(",", "").replace("−", "-");
  expect(decimalOf(back)).toEqual(decimalOf("-1234567.000"));
});

const now = epochMs(Date.UTC(2026, 10, 22, 1, 9));
const wallet = (account: string, product: string, coin: string, bills: number): Wallet => ({
  account,
  product,
  coin,
  bills,
  isDemo: product.startsWith("SUSDT") || account === "paper",
});
const wallets = [
  wallet("demo", "SUSDT-FUTURES", "SUSDT", 9_000),
  wallet("paper", "USDT-FUTURES", "USDT", 9_500),
  wallet("gone", "USDT-FUTURES", "USDT", 400),
  wallet("main", "COIN-FUTURES", "BTC", 300),
  wallet("main", "COIN-FUTURES", "ETH", 301),
  wallet("main", "USDT-FUTURES", "USDT", 500),
];
const usual = { from: "2026-08-25", to: "2026-11-22", view: "months", isExact: false };

test.each([
  ["", ["main", "USDT-FUTURES", "USDT"], {}],
  ["account=gone", ["gone", "USDT-FUTURES", "USDT"], {}],
  ["account=nobody&product=USDT-FUTURES", ["main", "USDT-FUTURES", "USDT"], {}],
  ["product=COIN-FUTURES&coin=BTC", ["main", "COIN-FUTURES", "BTC"], {}],
  ["product=COIN-FUTURES&coin=USDT", ["main", "COIN-FUTURES", "ETH"], {}],
  ["account=demo&exact=1", ["demo", "SUSDT-FUTURES", "SUSDT"], { isExact: true }],
  [
    "wallet=account%3Dmain%26product%3DCOIN-FUTURES%26coin%3DBTC&coin=ETH",
    ["main", "COIN-FUTURES", "BTC"],
    {},
  ],
  ["view=days&exact=yes", ["main", "USDT-FUTURES", "USDT"], { view: "days" }],
  ["from=2026-10-01&to=2026-10-31", undefined, { from: "2026-10-01", to: "2026-10-31" }],
  ["from=2026-10-31&to=2026-10-01", undefined, { from: "2026-10-01", to: "2026-10-31" }],
  ["to=2026-02-30", undefined, {}],
  ["to=2026-03-01", undefined, { from: "2025-12-02", to: "2026-03-01" }],
  ["from=1900-01-01&to=9999-12-31", undefined, { from: "2009-01-03", to: "2999-12-31" }],
  ["from=<script>", undefined, {}],
])("?%s selects what there is", (query, place, changes) => {
  const selected = selectionOf(askedIn(new URLSearchParams(query)), wallets, now);
  const [account, product, coin] = place ?? ["main", "USDT-FUTURES", "USDT"];
  expect(selected).toEqual({ account, product, coin, ...usual, ...changes });
});

test("what an address asks for and does not exist is said, and nothing else", () => {
  const missedOf = (query: string) => {
    const asked = new URLSearchParams(query);
    const selected = selectionOf(asked, wallets, now);
    return selected && missedIn(asked, selected);
  };
  expect(missedOf("")).toEqual([]);
  expect(
    missedOf("account=main&product=COIN-FUTURES&coin=BTC&to=2026-11-01&view=days&exact=7"),
  ).toEqual([]);
  expect(missedOf("from=2026-10-31&to=2026-10-01")).toEqual([]);
  expect(missedOf("account=nope&product=XX&coin=DOGE&from=2026-13-45&view=weeks")).toEqual([
    "account “nope”",
    "product “XX”",
    "coin “DOGE”",
    "from “2026-13-45”",
    "view “weeks”",
  ]);
  expect(missedOf("from=1900-01-01")).toEqual(["from “1900-01-01”"]);
});

test("a selection is the same when its own address is read, whatever its names are", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.boolean(), (account, coin, isExact) => {
      const own = [...wallets, wallet(account, "UTA", coin, 1)];
      const asked = selectionOf(new URLSearchParams({ account, product: "UTA", coin }), own, now);
      const changed = asked && queryOf(asked, { isExact, view: "kinds" });
      const again = selectionOf(new URLSearchParams(changed), own, now);
      expect(again).toEqual({ account, product: "UTA", coin, ...usual, isExact, view: "kinds" });
      expect(
        askedIn(
          new URLSearchParams({ wallet: walletValue({ account, product: "UTA", coin }) }),
        ).get("coin"),
      ).toBe(coin);
    }),
  );
  expect(selectionOf(new URLSearchParams(), [], now)).toBeUndefined();
});

test("an axis's numbers are round, few, and around all values", () => {
  const values = fc.array(
    fc.maxSafeInteger().map((units) => units / 1e8),
    { minLength: 1 },
  );
  fc.assert(
    fc.property(values, (drawn) => {
      const axis = axisOf(drawn);
      expect(axis.length).toBeLessThanOrEqual(7);
      expect(axis[0]).toBeLessThanOrEqual(Math.min(...drawn) + 1e-6);
      expect(axis.at(-1)).toBeGreaterThanOrEqual(Math.max(...drawn) - 1e-6);
    }),
  );
  expect(axisOf([259_318.69, 245_445.48])).toEqual([245_000, 250_000, 255_000, 260_000]);
  expect(axisOf([])).toEqual([0, 1]);
});

const figures = Object.fromEntries(pieceNames.map((name) => [name, "0"])) as Figures;
const dayAt = (offset: number, closing: string | null, result = "0"): Period => {
  const day = isoTime(epochMs(Date.parse("2026-08-25") + offset * dayMs)).slice(0, 10);
  return {
    ...{ from: day, to: day, opening: closing, closing, bills: 1, isComplete: true },
    figures: { ...figures, result },
  };
};
const drawn = (
  days: readonly Period[],
  to: string,
  breaks: readonly string[] = [],
  unread: readonly Days[] = [],
): string =>
  chart(
    days,
    { coin: "USDT", from: days[0]?.from ?? to, to },
    { breaks, unread },
    ({ from }) => `/b?${from}`,
  ).text;

test("days that were not read are shaded, up to the end, and no line is drawn over them", () => {
  const days = ["1", "2", "2"].map((closing, index) => dayAt(index, closing, "1"));
  const markup = drawn(
    days,
    "2026-08-29",
    [],
    [
      { from: "2026-08-26", to: "2026-08-26" },
      { from: "2026-08-28", to: "2026-08-29" },
    ],
  );
  const line = /class="balance" d="([^"]*)"/.exec(markup)?.[1] ?? "";
  expect(line.match(/M\d+|H\d+/g)).toEqual(["M0", "H200", "M400", "H600"]);
  expect(markup.match(/class="unread" x="[^"]*" width="[^"]*"/g)).toEqual([
    'class="unread" x="20%" width="20%"',
    'class="unread" x="60%" width="40%"',
  ]);
});

test("where no balance is known no line is drawn, and each day opens its bills", () => {
  const days = ["1", "2", null, null, "5"].map((closing, index) => dayAt(index, closing, "1"));
  const markup = drawn(days, "2026-08-29", ["2026-08-26", "2026-07-01"]);
  const line = /class="balance" d="([^"]*)"/.exec(markup)?.[1] ?? "";
  expect(line.match(/M\d+/g)).toEqual(["M0", "M800"]);
  expect(line.match(/H\d+/g)).toEqual(["H200", "H200", "H400", "H1000"]);
  expect(markup.match(/href="[^"]*"/g)).toEqual(days.map(({ from }) => `href="/b?${from}"`));
  // A break stands at its day; one of another time is not drawn.
  expect(markup.match(/class="break"/g)).toHaveLength(1);
  expect(/class="break"><title>26 Aug.*?x="([^"]*)"/.exec(markup)?.[1]).toBe("20%");
});

test("everything drawn is inside of the picture, however long it is", () => {
  const amounts = fc.array(fc.maxSafeInteger(), { minLength: 1, maxLength: 400 });
  fc.assert(
    fc.property(amounts, fc.nat(30), (all, ahead) => {
      const days = all.map((value, index) => dayAt(index, String(value), String(-value)));
      const to = isoTime(epochMs(Date.parse(days.at(-1)?.to ?? "") + ahead * dayMs)).slice(0, 10);
      const markup = drawn(days, to);
      for (const [, left = "", width = "", top = "", tall = ""] of markup.matchAll(
        /<rect class="(?:in|out|hit)" x="([^"]*)%" width="([^"]*)%" y="([^"]*)" height="([^"]*)"/g,
      )) {
        expect(Number(left)).toBeGreaterThanOrEqual(0);
        expect(Number(left) + Number(width)).toBeLessThanOrEqual(100.2);
        expect(Number(top)).toBeGreaterThanOrEqual(0);
        expect(Number(top) + Number(tall)).toBeLessThanOrEqual(213);
      }
      expect(markup.match(/<a /g)?.length).toBeLessThanOrEqual(100);
    }),
    { numRuns: 20 },
  );
});
