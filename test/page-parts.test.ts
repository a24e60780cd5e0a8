import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import { html, joined } from "../src/output/html.ts";
import { amount, daysText, movement, percentage, timeTag } from "../src/output/html-figures.ts";
import { type Figures, pieceNames } from "../src/output/pieces.ts";
import { axisOf, chart } from "../src/wings/serve/page/chart.ts";
import type { Period } from "../src/wings/serve/page/periods.ts";
import {
  askedIn,
  type Days,
  missedIn,
  queryOf,
  selectionOf,
  type Wallet,
  walletValue,
} from "../src/wings/serve/page/selection.ts";

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
  const sources = globSync("{src/wings/serve/page,src/output}/**/*.ts").map((path) => ({
    path,
    text: readFileSync(path, "utf8"),
  }));
  const holding = (pattern: RegExp) =>
    sources.flatMap(({ path, text }) => (pattern.test(text) ? [path] : [])).toSorted();
  expect(sources.length).toBeGreaterThan(5);
  expect(holding(/<[^>]*\s[\w-]+=\$\{/)).toEqual([]);
  expect(holding(/\bnew Html\(/)).toEqual(["src/output/html.ts"]);
});

test.each([
  ["1234567.891", "USDT", "1,234,567.89", "+1,234,567.89", "1,234,567.891"],
  ["-0.00731099", "BTC", "−0.007311", "−0.007311", "−0.00731099"],
  ["-277.91320018", "USDT", "−277.91", "−277.91", "−277.91320018"],
  ["0.125", "SUSDT", "0.13", "+0.13", "0.125"],
  ["-0.001", "USDC", "−0.00", "−0.00", "−0.001"],
  ["0.00000000", "ETH", "0.000000", "–", "0.00000000"],
  ["0", "USDT", "0.00", "–", "0"],
])("%s %s is shown as %s, moved as %s, and exactly as %s", (decimal, coin, ...texts) => {
  const balance = amount(decimal, { ...shown, coin });
  const moved = movement(decimal, { ...shown, coin });
  expect([balance, moved, amount(decimal, { coin, isExact: true })].map(textOf)).toEqual(texts);
  expect(balance.text).toContain(`value="${decimal}"`);
});

test("ratios, days and times are as people write them, and what is not known is not zero", () => {
  expect(["0.1673", "1.2", "0.123456", "-0.5"].map(percentage)).toEqual([
    ...["16.73 %", "120.00 %", "12.35 %", "−50.00 %"],
  ]);
  for (const [from, to, text] of [
    ["2026-08-28", "2026-11-25", "28 Aug – 25 Nov 2026"],
    ["2025-12-28", "2026-01-02", "28 Dec 2025 – 2 Jan 2026"],
    ["2026-08-26", "2026-08-31", "26 – 31 Aug 2026"],
    ["2026-02-01", "2026-02-28", "Feb 2026"],
    ["2024-02-01", "2024-02-28", "1 – 28 Feb 2024"],
    ["2026-11-25", "2026-11-25", "25 Nov 2026"],
  ] as const)
    expect(daysText({ from, to })).toBe(text);
  const time = epochMs(Date.UTC(2026, 10, 22, 1, 9, 59));
  expect([amount(null, shown), timeTag(undefined), timeTag(time)].map(textOf)).toEqual([
    ...["unknown", "unknown", "2026-11-22 01:09Z"],
  ]);
});

const now = epochMs(Date.UTC(2026, 10, 22, 1, 9));
const wallet = (account: string, product: string, coin: string, bills: number): Wallet => ({
  account,
  product,
  coin,
  bills,
});
const wallets = [
  wallet("small", "SUSDT-FUTURES", "SUSDT", 9),
  wallet("gone", "USDT-FUTURES", "USDT", 400),
  wallet("main", "COIN-FUTURES", "BTC", 300),
  wallet("main", "COIN-FUTURES", "ETH", 301),
  wallet("main", "USDT-FUTURES", "USDT", 500),
];
const usual = { from: "2026-08-25", to: "2026-11-22", view: "months", isExact: false };

test.each([
  ["", ["main", "USDT-FUTURES", "USDT"], {}],
  ["account=nobody&product=USDT-FUTURES", ["main", "USDT-FUTURES", "USDT"], {}],
  ["product=COIN-FUTURES&coin=BTC", ["main", "COIN-FUTURES", "BTC"], {}],
  ["product=COIN-FUTURES&coin=USDT", ["main", "COIN-FUTURES", "ETH"], {}],
  ["account=small&exact=1", ["small", "SUSDT-FUTURES", "SUSDT"], { isExact: true }],
  [
    "wallet=account%3Dmain%26product%3DCOIN-FUTURES%26coin%3DBTC&coin=ETH",
    ["main", "COIN-FUTURES", "BTC"],
    {},
  ],
  ["view=days&exact=yes", ["main", "USDT-FUTURES", "USDT"], { view: "days" }],
  ["from=2026-10-01&to=2026-10-31", undefined, { from: "2026-10-01", to: "2026-10-31" }],
  ["from=2026-10-31&to=2026-10-01", undefined, { from: "2026-10-01", to: "2026-10-31" }],
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
  for (const query of [
    "",
    "account=main&product=COIN-FUTURES&coin=BTC&to=2026-11-01&view=days&exact=7",
    "from=2026-10-31&to=2026-10-01",
  ])
    expect(missedOf(query)).toEqual([]);
  expect(missedOf("account=nope&product=XX&coin=DOGE&from=2026-13-45&view=weeks")).toEqual([
    ...["account “nope”", "product “XX”", "coin “DOGE”", "from “2026-13-45”", "view “weeks”"],
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
      const typed = new URLSearchParams({ wallet: walletValue({ account, product: "UTA", coin }) });
      expect(askedIn(typed).get("coin")).toBe(coin);
    }),
  );
  expect(selectionOf(new URLSearchParams(), [], now)).toBeUndefined();
});

test("an axis's numbers are round, few, and around all values", () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeInteger(), { minLength: 1 }), (drawn) => {
      const values = drawn.map((units) => units / 1e8);
      const axis = axisOf(values);
      expect(axis.length).toBeLessThanOrEqual(7);
      expect(axis[0]).toBeLessThanOrEqual(Math.min(...values) + 1e-6);
      expect(axis.at(-1)).toBeGreaterThanOrEqual(Math.max(...values) - 1e-6);
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
): string => {
  const span = { coin: "USDT", from: days[0]?.from ?? to, to };
  return chart(days, span, { breaks, unread }, ({ from }) => `/b?${from}`).text;
};

test("days that were not read are shaded, up to the end; no line is drawn over them, or where no balance is known; each day opens its bills", () => {
  const days = ["1", "2", null, null, "5"].map((closing, index) => dayAt(index, closing, "1"));
  const unread = [
    { from: "2026-08-26", to: "2026-08-26" },
    { from: "2026-08-28", to: "2026-08-29" },
  ];
  const lineOf = (markup: string) =>
    /class="balance" d="([^"]*)"/.exec(markup)?.[1]?.match(/[MH]\d+/g);
  const shaded = drawn(days.slice(0, 2).concat(dayAt(2, "2", "1")), "2026-08-29", [], unread);
  expect(lineOf(shaded)).toEqual(["M0", "H200", "M400", "H600"]);
  expect(shaded.match(/class="unread" x="[^"]*" width="[^"]*"/g)).toEqual([
    ...['class="unread" x="20%" width="20%"', 'class="unread" x="60%" width="40%"'],
  ]);
  const markup = drawn(days, "2026-08-29", ["2026-08-26", "2026-07-01"]);
  expect(lineOf(markup)).toEqual(["M0", "H200", "H200", "H400", "M800", "H1000"]);
  expect(markup.match(/href="[^"]*"/g)).toEqual(days.map(({ from }) => `href="/b?${from}"`));
  // A break stands at its day; one of another time is not drawn.
  expect(markup.match(/class="break"/g)).toHaveLength(1);
  expect(/class="break"><title>26 Aug.*?x="([^"]*)"/.exec(markup)?.[1]).toBe("20%");
});

test("everything drawn is inside of the picture, however long it is", () => {
  const days = Array.from({ length: 400 }, (_, day) => dayAt(day, `${day - 9}`, `${9 - day}`));
  for (const shown of [days, days.slice(0, 60)]) {
    const markup = drawn(shown, isoTime(epochMs(Date.parse("2027-12-31"))).slice(0, 10));
    const bar = /class="(?:in|out|hit)" x="(.*?)%" width="(.*?)%" y="(.*?)" height="(.*?)"/g;
    for (const [, ...texts] of markup.matchAll(bar)) {
      const [left = -1, width = -1, top = -1, tall = -1] = texts.map(Number);
      expect(Math.min(left, width, top, tall)).toBeGreaterThanOrEqual(0);
      expect([left + width <= 100.2, top + tall <= 213]).toEqual([true, true]);
    }
    const bars = markup.match(/<a /g)?.length ?? 0;
    expect(bars).toBeGreaterThan(12);
    expect(bars).toBeLessThanOrEqual(100);
  }
});
