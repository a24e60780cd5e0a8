import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inTransaction } from "../src/db/connect.ts";
import { readAssets } from "../src/page/assets.ts";
import { writeBillsPage } from "../src/page/bills/bills-page.ts";
import type { Html } from "../src/page/html.ts";
import { writePage } from "../src/page/page.ts";
import { openBrowser } from "./support/browser.ts";
import { fileDatabase } from "./support/database.ts";
import { states } from "./support/page-states.ts";

// Pictures and tables of money as a browser has them. A server is no part of it.

const { tables } = await fileDatabase();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
beforeAll(async () => {
  [browser] = await Promise.all([openBrowser(), states["breaks"]?.(tables.db)]);
});
afterAll(() => browser.close());

/** The paths of all requests of the browser. */
const asked: string[] = [];

/** The page at an address, with the size and the colours of a device. */
async function open(
  address: string,
  device: Parameters<Browser["newPage"]>[0] = {},
): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...device });
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  await page.route("http://page.test/**", async (route) => {
    const { pathname, searchParams: query } = new URL(route.request().url());
    if (pathname.startsWith("/page/"))
      // No sync is at work. 204 tells the page's script to ask no more.
      return pathname === "/page/live"
        ? route.fulfill({ status: 204 })
        : route.fulfill(assetAt(pathname));
    const body = await inTransaction(tables.db, async (tx) => {
      const parts: string[] = [];
      const write = ({ text }: Html) => void parts.push(text);
      if (pathname === "/bills") await writeBillsPage(tx, query, write);
      else await writePage(tx, { query, settleLagMs: 600_000 }, write);
      return parts.join("");
    });
    return route.fulfill({ contentType: "text/html; charset=utf-8", body });
  });
  await page.goto(`http://page.test${address}`);
  return page;
}

test("a page of bills is loaded once, and follows nothing", async () => {
  asked.length = 0;
  const page = await open("/bills?account=main&product=USDT-FUTURES");
  await page.waitForLoadState("networkidle");
  expect(asked.filter((path) => path === "/bills" || path === "/page/live")).toEqual(["/bills"]);
  await page.close();
});

function assetAt(pathname: string) {
  const asset = readAssets().find(({ name }) => pathname === `/page/${name}`);
  return asset === undefined ? { status: 404 } : { contentType: asset.type, body: asset.text };
}

/** The length of an A4 sheet within its margins, which the longest tables are printed along. */
const sheetOfPaper = { width: 1047, height: 718 };

const cellsOf = (page: Page, section: string): Promise<readonly string[]> =>
  page.locator(`#${section} .data tbody tr`).evaluateAll((rows) =>
    rows.map((row) => {
      const [day, figure] = row.children;
      return `${day?.textContent}: ${figure?.querySelector("data")?.title ?? "–"}`;
    }),
  );

test("a picture is read by the keyboard, and says what the table below it says", async () => {
  const page = await open("/?account=main&product=USDT-FUTURES");
  for (const section of ["balance", "result"]) {
    const rows = await cellsOf(page, section);
    expect(rows.length).toBeGreaterThan(80);
    const picture = page.locator(`#${section} svg.days`);
    const reading = page.locator(`#${section} output`);
    await picture.focus();
    const keys = [
      ["End", 0],
      ["ArrowLeft", 1],
      ["ArrowLeft", 2],
      ["PageDown", 9],
      ["Home", -1],
      ["ArrowRight", -2],
    ] as const;
    for (const [key, place] of keys) {
      await page.keyboard.press(key);
      const [day = "", figure = ""] = rows.at(place)?.split(": ") ?? [];
      const read = (await reading.textContent()) ?? "";
      expect(read).toContain(day);
      expect(read).toContain(figure === "–" ? "0" : figure);
      expect(await picture.getAttribute("aria-valuetext")).toBe(read);
    }
    // And by where a pointer rests: of so many days, at the foot of the one in the middle.
    const { width = 0, height = 0 } = (await picture.boundingBox()) ?? {};
    const place = Math.floor(rows.length / 2);
    const x = ((place + 0.5) / rows.length) * width;
    await picture.hover({ position: { x, y: height - 40 } });
    const [middle = ""] = rows.toReversed()[place]?.split(": ") ?? [];
    expect(await reading.textContent()).toContain(middle);
  }
  await page.close();
});

test("a table of figures is one stop of the Tab key, and the arrow keys go from figure to figure", async () => {
  const page = await open("/?account=main&product=USDT-FUTURES");
  // Of each table with links, how many of them the Tab key stops at.
  const stops: readonly number[] = await page.evaluate(
    `[...document.querySelectorAll("table")]
      .map((table) => [...table.querySelectorAll(":is(td, th) a[href]")])
      .filter((links) => links.length > 0)
      .map((links) => links.filter((link) => link.tabIndex === 0).length)`,
  );
  expect(stops.length).toBeGreaterThan(4);
  expect(new Set(stops)).toEqual(new Set([1]));
  // The place among the rows that have links: a day without bills has none.
  const rowAt = (): Promise<number> =>
    page.evaluate(
      `[...document.activeElement.closest("table").rows]
        .filter((row) => row.querySelector("a") !== null)
        .indexOf(document.activeElement.closest("tr"))`,
    );
  await page.locator("#rollforward table a[tabindex='0']").focus();
  const row = await rowAt();
  for (const [key, down] of [
    ["ArrowDown", 1],
    ["ArrowDown", 2],
    ["ArrowUp", 1],
  ] as const) {
    await page.keyboard.press(key);
    expect(await rowAt()).toBe(row + down);
  }
  // The place among all links of the table, the row's first and last link, and the address.
  const place = (): Promise<readonly [place: number, first: number, last: number, href: string]> =>
    page.evaluate(`(() => {
      const link = document.activeElement;
      const all = [...link.closest("table").querySelectorAll("a")];
      const own = [...link.closest("tr").querySelectorAll("a")];
      return [all.indexOf(link), all.indexOf(own[0]), all.indexOf(own.at(-1)), link.href];
    })()`);
  await page.keyboard.press("Home");
  const [start, first] = await place();
  expect(start).toBe(first);
  await page.keyboard.press("ArrowRight");
  expect((await place())[0]).toBe(start + 1);
  await page.keyboard.press("End");
  const [end, , last, href] = await place();
  expect(end).toBe(last);
  // Tab leaves the table, and comes back to where it was.
  await page.keyboard.press("Tab");
  expect(await page.evaluate(`document.activeElement.closest("#rollforward table")`)).toBeNull();
  await page.keyboard.press("Shift+Tab");
  expect((await place())[3]).toBe(href);
  await page.close();
});

test("Enter on a day of a chart opens that day's bills", async () => {
  const page = await open("/?account=main&product=USDT-FUTURES");
  await page.locator("#balance svg.days").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  const day = /\d{4}-\d\d-\d\d/.exec(
    (await page.locator("#balance output").textContent()) ?? "",
  )?.[0];
  await page.keyboard.press("Enter");
  await page.waitForURL("**/bills**");
  expect(page.url()).toContain(`from=${day}&to=${day}`);
  await page.close();
});

test.each([
  [
    "the bills of a figure",
    "/bills?account=main&product=USDT-FUTURES&of=trading_fees&of=fee_rebates",
  ],
  ["a break's bill", "/bills?account=main&product=USDT-FUTURES&of=difference"],
  ["the page by month", "/?account=main&product=USDT-FUTURES&by=month"],
])("%s is readable by everybody, on a telephone and on paper", async (_, address) => {
  for (const device of [
    { colorScheme: "light" },
    { colorScheme: "dark", viewport: { width: 400, height: 800 } },
  ] as const) {
    const page = await open(address, device);
    await page.evaluate(axe);
    const found = (options: string): Promise<readonly string[]> =>
      page.evaluate(
        `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + nodes[0].html))`,
      );
    // Contrast goes by the colours, all else by the size.
    expect(await found('{ rules: { "color-contrast": { enabled: false } } }')).toEqual([]);
    await page.emulateMedia({ colorScheme: device.colorScheme === "light" ? "dark" : "light" });
    expect(await found('{ runOnly: ["color-contrast"] }')).toEqual([]);
    expect(await page.locator("tbody tr").count()).toBeGreaterThan(0);
    const widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
    const [wanted = 0, had = 0]: readonly number[] = await page.evaluate(widths);
    expect(wanted).toBeLessThanOrEqual(had);
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize(sheetOfPaper);
    const [onPaper = 0, sheet = 0]: readonly number[] = await page.evaluate(widths);
    expect(onPaper).toBeLessThanOrEqual(sheet);
    await page.close();
  }
});
