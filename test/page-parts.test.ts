import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { dayMs, epochMs, hourMs } from "../src/contract/time.ts";
import { decimalOf } from "../src/export/decimal.ts";
import {
  allDigits,
  amount,
  asWritten,
  discrepancy,
  lengthText,
  movement,
  netMovement,
  padded,
  percentage,
  placesOf,
  roundedTo,
  timeTag,
} from "../src/page/format.ts";
import { html, joined } from "../src/page/html.ts";
import { missedNote, missedOf } from "../src/page/missed.ts";
import { closeOf } from "../src/page/money/books.ts";
import { queryOf, selectionOf, type Wallet } from "../src/page/selection.ts";

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
  expect(sources.filter((text) => /<[^>]*=\$\{/.test(text))).toEqual([]);
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
  expect(balance.text).toContain(`title="${textOf(exact)}"`);
  expect(balance.text).toContain(`value="${decimal}"`);
  // Only a table's movement of zero is a dash.
  const inSentence = textOf(netMovement(decimal, { ...shown, coin }));
  expect(inSentence).toBe(texts[1] === "–" ? texts[0] : texts[1]);
});

test.each([
  ["0.1673", "16.73 %", "16.73 %"],
  ["0.05", "5.00 %", "5 %"],
  ["1.2", "120.00 %", "120 %"],
  ["0.123456", "12.35 %", "12.3456 %"],
  ["-0.5", "−50.00 %", "−50 %"],
])("the ratio %s is shown as %s, and exactly as %s", (ratio, short, exact) => {
  expect(textOf(percentage(ratio, false))).toBe(short);
  expect(textOf(percentage(ratio, true))).toBe(exact);
  expect(percentage(ratio, false).text).toContain(`value="${ratio}" title="${exact}"`);
});

test("a sentence has a minus before its numbers, and hyphens elsewhere", () => {
  expect(asWritten("bills totalling -1.5 (-2) of 2026-11-22, by COIN-FUTURES or a-1")).toBe(
    "bills totalling −1.5 (−2) of 2026-11-22, by COIN-FUTURES or a-1",
  );
});

test("a sentence of a report has the page's digits and times, and its ids as they are", () => {
  expect(
    asWritten(
      "bills totalling -1502.74673649, 1505528976288776192, 2026-10-29T00:00:00.000Z to v1.2345.6",
    ),
  ).toBe("bills totalling −1,502.74673649, 1505528976288776192, 2026-10-29 00:00Z to v1.2345.6");
});

test("decimals of a table have the same places, and lose none", () => {
  expect(padded(["124251.7914603", null, "-0.50", "3"])).toEqual([
    "124251.7914603",
    null,
    "-0.5000000",
    "3.0000000",
  ]);
});

test("what no bill explains is never in the colour of a gain", () => {
  expect(discrepancy("1.5", shown).text).toContain('class="is-off"');
  expect(movement("1.5", shown).text).toContain('class="in"');
});

test.each([
  [59_999, "less than a minute"],
  [25 * 60_000, "25 min"],
  [3 * hourMs, "3 h"],
  [3 * hourMs + 10 * 60_000, "3 h 10 min"],
  [dayMs - 1, "1 day"],
  [7 * dayMs - 1, "7 days"],
  [6 * dayMs + 23 * hourMs, "6 d 23 h"],
  [90 * dayMs + 29 * 60_000, "90 days"],
])("%i ms are %s", (ms, text) => {
  expect(lengthText(ms).replaceAll("\u00a0", " ")).toBe(text);
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

test("coins are written with the places that they usually have", () => {
  const places = ["USDT", "SUSDC", "USD", "BTC", "SETH", "SOL", "XRP"].map(placesOf);
  expect(places).toEqual([2, 2, 2, 6, 6, 4, 4]);
});

const now = epochMs(Date.UTC(2026, 10, 22, 1, 9));
const wallet = (account: string, product: string, coin: string, bills: number): Wallet => ({
  account,
  product,
  coin,
  bills,
  isEnded: account === "gone",
  isDemo: product.startsWith("SUSDT") || account === "paper",
});
const wallets = [
  wallet("demo", "SUSDT-FUTURES", "SUSDT", 9_000),
  wallet("paper", "USDT-FUTURES", "USDT", 9_500),
  wallet("gone", "USDT-FUTURES", "USDT", 8_000),
  wallet("main", "COIN-FUTURES", "BTC", 300),
  wallet("main", "COIN-FUTURES", "ETH", 301),
  wallet("main", "USDT-FUTURES", "USDT", 500),
];
const usual = { from: "2026-08-25", to: "2026-11-22", by: "day", isExact: false };

test.each([
  ["", ["main", "COIN-FUTURES", "ETH"], {}],
  ["account=gone", ["gone", "USDT-FUTURES", "USDT"], {}],
  ["account=nobody&product=USDT-FUTURES", ["main", "USDT-FUTURES", "USDT"], {}],
  ["product=COIN-FUTURES&coin=BTC", ["main", "COIN-FUTURES", "BTC"], {}],
  ["product=COIN-FUTURES&coin=USDT", ["main", "COIN-FUTURES", "ETH"], {}],
  ["account=demo&exact=1", ["demo", "SUSDT-FUTURES", "SUSDT"], { isExact: true }],
  ["by=month&exact=yes", ["main", "COIN-FUTURES", "ETH"], { by: "month" }],
  ["from=2026-10-01&to=2026-10-31", undefined, { from: "2026-10-01", to: "2026-10-31" }],
  ["from=2026-10-31&to=2026-10-01", undefined, { from: "2026-10-01", to: "2026-10-31" }],
  ["to=2026-02-30", undefined, {}],
  ["to=2026-03-01", undefined, { from: "2025-12-02", to: "2026-03-01" }],
  ["from=1900-01-01&to=9999-12-31", undefined, { from: "2009-01-03", to: "2999-12-31" }],
  ["from=<script>", undefined, {}],
])("?%s selects what there is", (query, place, changes) => {
  const selected = selectionOf(new URLSearchParams(query), wallets, now);
  const [account, product, coin] = place ?? ["main", "COIN-FUTURES", "ETH"];
  expect(selected).toEqual({ account, product, coin, ...usual, ...changes });
});

test("what an address asks for and does not exist is said, and nothing else", () => {
  const noteOf = (query: string) => {
    const asked = new URLSearchParams(query);
    const selected = selectionOf(asked, wallets, now);
    if (selected === undefined) throw new Error("no selection");
    return textOf(missedNote(missedOf(asked, selected), selected)).trim();
  };
  expect(noteOf("")).toBe("");
  expect(noteOf("account=main&product=COIN-FUTURES&coin=BTC&to=2026-11-01&by=month&exact=7")).toBe(
    "",
  );
  expect(noteOf("from=2026-10-31&to=2026-10-01")).toBe("");
  const shownInstead = "This is main COIN-FUTURES ETH, 2026-08-25 to 2026-11-22: ";
  expect(noteOf("account=nope&product=XX&coin=USDT&from=2026-13-45")).toBe(
    `${shownInstead}there is no account “nope” here, and there is no product “XX” here, and ` +
      "there is no coin “USDT” here, and “2026-13-45” is no day.",
  );
  expect(noteOf("by=week")).toBe(`${shownInstead}rows are by day or by month, not by “week”.`);
  expect(noteOf("from=1900-01-01&to=2026-11-22")).toBe(
    "This is main COIN-FUTURES ETH, 2009-01-03 to 2026-11-22: “1900-01-01” is further away than the page goes.",
  );
  // An account is found by a part of its name, which may be another account's whole name.
  expect(noteOf("account=mai")).toBe(`${shownInstead}there is no account “mai” here.`);
});

test("a selection is the same when its own address is read, whatever its names are", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.boolean(), (account, coin, isExact) => {
      const own = [...wallets, wallet(account, "UTA", coin, 1)];
      const asked = selectionOf(new URLSearchParams({ account, product: "UTA", coin }), own, now);
      const changed = asked && queryOf(asked, { isExact, by: "month" });
      const again = selectionOf(new URLSearchParams(changed), own, now);
      expect(again).toEqual({ account, product: "UTA", coin, ...usual, isExact, by: "month" });
    }),
  );
  expect(selectionOf(new URLSearchParams(), [], now)).toBeUndefined();
});

test.each([
  ["a month that is over", "2026-10-01", "2026-10-31", "2026-10", true],
  ["a part of one", "2026-09-03", "2026-10-05", "2026-10", true],
  ["days that reach into the running month", "2026-08-25", "2026-11-23", "2026-10", true],
  ["the running month", "2026-11-01", "2026-11-30", "2026-11", false],
  ["the last days of it", "2026-11-17", "2026-11-23", "2026-11", false],
  ["a year that is not over", "2026-01-01", "2026-12-31", "2026-10", true],
])("the month's close that %s offers", (_what, from, to, month, isOver) => {
  expect(closeOf({ from, to }, "2026-11-23")).toEqual({ month, isOver });
});
