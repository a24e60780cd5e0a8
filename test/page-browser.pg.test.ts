// Its chart and tables work with the keyboard, on a telephone and on paper.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { sql } from "drizzle-orm";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "./support/browser.ts";
import { openTestDatabase } from "./support/database.ts";
import { openPageServer, type PageServer } from "./support/page-server.ts";
import { logRun, states } from "./support/page-states.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
let server: PageServer;
beforeAll(async () => {
  [browser, server] = await Promise.all([openBrowser(), openPageServer()]);
});
afterAll(async () => {
  await browser.close();
  await server[Symbol.asyncDispose]();
});

const wide = { width: 1280, height: 900 };

type Opened = AsyncDisposable & { readonly page: Page; readonly errors: readonly string[] };

/** The page in a window of its own, with all that the browser complained about. */
async function open(
  options: Parameters<Browser["newContext"]>[0] = {},
  path = "/",
): Promise<Opened> {
  const context: BrowserContext = await browser.newContext({ viewport: wide, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() !== "info") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(server.url + path, { waitUntil: "load" });
  return { page, errors, [Symbol.asyncDispose]: () => context.close() };
}

async function stateDatabase(make: (typeof states)[string]) {
  const database = await openTestDatabase();
  await make?.(database.db);
  server.show(database);
  return database;
}

/** What axe-core finds wrong, each with the elements in question. */
async function violations(page: Page, options: object): Promise<readonly string[]> {
  return await page.evaluate(async (given) => {
    const { axe: checker } = globalThis as unknown as {
      readonly axe: {
        run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    return (await checker.run(given)).violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`,
    );
  }, options);
}

/** The title of each state, and the colour of it. */
const titles: Readonly<Record<string, readonly [title: string, tone: string]>> = {
  nothing: ["Nothing was ever read", "bad"],
  "at work": ["A sync is at work", ""],
  breaks: ["It does not add up", "bad"],
  behind: ["Out of date", "warn"],
  good: ["Complete, and it adds up", "good"],
};

/** Elements that reach out of the window, or whose text is cut off or overlaps another's. */
const misplaced = `[...document.querySelectorAll("main *")].flatMap((element) => {
  const box = element.getBoundingClientRect();
  if (box.width === 0 || element.closest(".frame, .unseen, svg, details:not([open]) > :not(summary)")) return [];
  const isOut = box.right > document.documentElement.clientWidth + 1 || box.left < -1;
  return isOut ? [element.outerHTML.slice(0, 120)] : [];
})`;

const whole = "document.documentElement";
const screens = [
  [1280, "light"],
  [1280, "dark"],
  [1024, "light"],
  [768, "dark"],
  [390, "light"],
  [360, "dark"],
] as const;

describe.each(Object.keys(states))("a database in the state %s", (name) => {
  test("has its title, and reads well at all widths, light and dark, on paper and without scripts", async () => {
    await using state = await stateDatabase(states[name] ?? (async () => {}));
    const [title, tone] = titles[name] ?? [];
    const isBusy = name === "breaks";
    await using wideOpen = await open({ viewport: wide, bypassCSP: true });
    const { page, errors } = wideOpen;
    await page.evaluate(axe);
    const views = ["/?view=days&exact=1", "/?view=contracts", "/bills", "/runs"];
    for (const path of ["/", ...(isBusy ? views : name === "at work" ? ["/runs"] : [])]) {
      if (path !== "/") await page.goto(server.url + path, { waitUntil: "load" });
      if (path !== "/") await page.evaluate(axe);
      for (const [width, colorScheme] of isBusy ? screens : screens.slice(4)) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        // Contrast goes by the colours, all else by the size: a check takes a second.
        const isContrast = colorScheme === "dark";
        if (width === 1280 ? !isContrast : width === 360) {
          const options = isContrast
            ? { runOnly: ["color-contrast"] }
            : { rules: { "color-contrast": { enabled: false } } };
          expect(await violations(page, options)).toEqual([]);
        }
        expect(await page.evaluate(misplaced)).toEqual([]);
        expect(await page.evaluate(`${whole}.scrollWidth > ${whole}.clientWidth`)).toBe(false);
      }
      await page.emulateMedia({ media: "print" });
      // The length of an A4 sheet within its margins.
      await page.setViewportSize({ width: 1047, height: 718 });
      expect([path, await page.evaluate(`${whole}.scrollWidth`)]).toEqual([path, 1047]);
      await page.emulateMedia({ media: "screen" });
    }
    expect(errors).toEqual([]);
    await using plain = await open({ javaScriptEnabled: false });
    expect(await plain.page.locator("h1").innerText()).toBe(title);
    expect(await plain.page.locator("h1").getAttribute("class")).toBe(tone);
    expect(await plain.page.locator("footer").count()).toBe(1);
    expect(server.complaints).toEqual([]);
    void state;
  });
});

test("a sync from elsewhere is seen while it reads, and the whole page when it ends", async () => {
  await using state = await stateDatabase(states["behind"] ?? (async () => {}));
  await using opened = await open();
  const { page } = opened;
  const headline = page.locator("h1");
  expect(await headline.innerText()).toBe("Out of date");
  await page.locator(".menu summary").first().click();
  const runId = await logRun(state.db, { agoMs: 1_000, outcome: "running" });
  await expect.poll(() => headline.innerText(), { timeout: 30_000 }).toBe("A sync is at work");
  expect(await page.locator(".menu").first().getAttribute("open")).toBe("");
  expect(await page.locator(".progress").innerText()).toContain("of the time is read");
  await state.db.execute(sql`
    update runs
    set outcome = 'complete', finished_at = clock_timestamp()
    where run_id = ${runId}`);
  await expect.poll(() => headline.innerText(), { timeout: 30_000 }).toBe("Out of date");
  expect(await page.locator(".progress").count()).toBe(0);
});

test("keys go from figure to figure, open bills, and a button copies a command", async () => {
  await using state = await stateDatabase(states["breaks"] ?? (async () => {}));
  await using opened = await open(
    { permissions: ["clipboard-read", "clipboard-write"] },
    "/?account=main&product=USDT-FUTURES",
  );
  const { page, errors } = opened;
  const code = page.locator(".todo code").first();
  // An update of the page may put another button in the place of this one.
  const label = await page.evaluate(`new Promise((resolve) => {
    const button = document.querySelector(".todo button");
    new MutationObserver(() => resolve(button.textContent)).observe(button, { childList: true });
    button.click();
  })`);
  expect(label).toBe("Copied");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await code.innerText());
  // Of the picture and of the table the Tab key stops at one link each.
  const stops = await page.evaluate(
    `[...document.querySelectorAll("[data-rove]")].map((group) => [...group.querySelectorAll("a")].filter((link) => link.tabIndex === 0).length)`,
  );
  expect(stops).toEqual([1, 1]);
  const focused = () =>
    page.evaluate(
      "document.activeElement.href.baseVal ?? document.activeElement.href",
    ) as Promise<string>;
  await page.locator(".chart a").first().focus();
  await page.keyboard.press("End");
  const last = await focused();
  await page.keyboard.press("ArrowLeft");
  expect(await focused()).not.toBe(last);
  // In the table, up and down keep the column.
  await page.locator("#statement tbody tr:first-child td:nth-of-type(2) a").focus();
  const column = () => page.evaluate("document.activeElement.closest('td').cellIndex");
  const row = () => page.evaluate("document.activeElement.closest('tr').rowIndex");
  const [at, from] = [await column(), (await row()) as number];
  await page.keyboard.press("ArrowDown");
  expect([await column(), await row()]).toEqual([at, from + 1]);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowRight");
  expect(await row()).toBe(from);
  const href = await focused();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/bills**");
  expect(page.url()).toBe(new URL(href, server.url).href);
  expect(errors).toEqual([]);
  void state;
});
