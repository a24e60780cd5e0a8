import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { sql } from "drizzle-orm";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { type Headline, headlines } from "../src/page/trust/headline.ts";
import { openBrowser } from "./support/browser.ts";
import { testDatabase } from "./support/database.ts";
import { openPageServer, type PageServer } from "./support/page-server.ts";
import { logRun, states, storeAccount } from "./support/page-states.ts";

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
const narrow = { width: 400, height: 800 };

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
  const database = await testDatabase();
  const tables = openDatabase(database.url);
  await make?.(tables.db);
  server.show(tables);
  return {
    db: tables.db,
    async [Symbol.asyncDispose]() {
      await tables[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** What axe-core finds wrong, each with the elements in question. */
async function violations(page: Page, options: object): Promise<readonly string[]> {
  return await page.evaluate(async (given) => {
    const { axe: checker } = globalThis as unknown as {
      readonly axe: {
        run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const found = await checker.run(given);
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`,
    );
  }, options);
}

const isWiderThanScreen = (page: Page): Promise<boolean> =>
  page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");

/** What the first card tells to type in each state. */
const commands: Readonly<Partial<Record<Headline, readonly string[]>>> = {
  nothing: ["npm run sync"],
  breaks: ["npm run sync", "npm run reconcile -- --repair"],
  lost: ['npm run breaks -- accept 1 --note "why"'],
  missing: ["npm run sync", "npm run reconcile"],
  behind: ["npm run sync", "npm run reconcile"],
  rejected: ["npm run sync", "npm run reconcile"],
  // #2 is of demo trading.
  restated: ['npm run breaks -- accept 1,3,4 --note "why"'],
  unreconciled: ["npm run reconcile"],
};

/** What the card of a state's breaks shows when all of it is opened. */
const opened: Readonly<Partial<Record<Headline, string>>> = {
  breaks: "last good",
  restated: "RENAMED",
  rejected: "billId: not a text",
};

describe.each(Object.keys(states) as Headline[])("a database in the state %s", (headline) => {
  test("has its headline, and reads well in light, dark, narrow and without scripts", async () => {
    await using state = await stateDatabase(states[headline] ?? (async () => {}));
    // Contrast goes by the colours, all else by the size.
    const colours = { runOnly: ["color-contrast"] };
    const allElse = { rules: { "color-contrast": { enabled: false } } };
    const looks = [
      { viewport: wide, colorScheme: "light", options: allElse },
      { viewport: wide, colorScheme: "dark", options: colours },
      { viewport: narrow, colorScheme: "dark", options: allElse },
      { viewport: narrow, colorScheme: "light", options: colours },
    ] as const;
    // The others have nothing that these do not show: a check takes a second.
    const isChecked = ["nothing", "at work", "breaks", "good"].includes(headline);
    await using wideOpen = await open({ viewport: wide, bypassCSP: true });
    const { page, errors } = wideOpen;
    await page.evaluate(axe);
    await page.locator("details").evaluateAll((folds) => {
      for (const fold of folds) fold.setAttribute("open", "");
    });
    for (const { viewport, colorScheme, options } of isChecked ? looks : looks.slice(2)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      expect(await page.locator("h1").innerText()).toBe(headlines[headline].title);
      expect(await violations(page, options)).toEqual([]);
      expect(await isWiderThanScreen(page)).toBe(false);
    }
    const { tone } = headlines[headline];
    // One trouble has one colour, in the headline, in the tiles and in the rows.
    const red = page.locator(".tile.bad, .ledgers .chip.bad, .break > th .chip.bad");
    expect((await red.count()) > 0).toBe(tone === "bad");
    if (headline === "behind") {
      expect(await page.locator('.tile.good[href="#breaks"], #breaks .chip.good').count()).toBe(0);
    }
    const shown = opened[headline];
    if (shown !== undefined) expect(await page.locator("#breaks").innerText()).toContain(shown);
    expect(errors).toEqual([]);
    await using plain = await open({ javaScriptEnabled: false });
    expect(await plain.page.locator("h1").innerText()).toBe(headlines[headline].title);
    expect(await plain.page.locator("footer").count()).toBe(1);
    expect(await plain.page.locator(".command code").allInnerTexts()).toEqual(
      commands[headline] ?? [],
    );
    expect(server.complaints).toEqual([]);
    void state;
  });
});

test("a sync from elsewhere is seen while it reads, and the whole page when it ends", async () => {
  await using state = await stateDatabase(states["unreconciled"] ?? (async () => {}));
  await using opened = await open();
  const { page } = opened;
  const headline = page.locator("h1");
  expect(await headline.innerText()).toBe(headlines.unreconciled.title);
  await page.locator("summary").first().click();
  const runs = page.locator("#runs .about");
  const runsBefore = await runs.innerText();
  const runId = await logRun(state.db, { agoMs: 1_000, outcome: "running" });
  await expect
    .poll(() => headline.innerText(), { timeout: 30_000 })
    .toBe(headlines["at work"].title);
  const isOpen = () => page.locator("details").first().getAttribute("open");
  expect(await isOpen()).toBe("");
  const progress = page.locator(".progress");
  expect(await progress.innerText()).toContain("100.0 % of the time is read");
  await storeAccount(state.db, {
    account: "second",
    known: {
      "USDT-FUTURES": {
        read: [
          [90, 60],
          [30, 0],
        ],
      },
    },
  });
  await expect.poll(() => progress.innerText(), { timeout: 30_000 }).toContain("1 ledger left");
  await state.db.execute(sql`
    update sync_runs
    set outcome = 'complete', finished_at = clock_timestamp()
    where run_id = ${runId}`);
  await expect.poll(() => headline.innerText(), { timeout: 30_000 }).toBe(headlines.missing.title);
  // No event has the runs: the page was loaded anew.
  await expect.poll(() => runs.innerText(), { timeout: 30_000 }).not.toBe(runsBefore);
});

test("names and notes of all kinds are text, never markup", async () => {
  const hostile = `<img src=x onerror="document.title='owned'">'"&amp;</script><script>1</script>`;
  await using state = await stateDatabase(async (db) => {
    await storeAccount(db, { account: hostile, density: 0.05 });
    await states["breaks"]?.(db);
    await db.execute(sql`
      update ledger_breaks
      set note = ${hostile}, explanation = ${hostile}, anchor = ${hostile},
        coin = ${hostile} || break_id`);
    await db.execute(sql`update break_decisions set note = ${hostile}, decided_by = ${hostile}`);
    await logRun(db, { agoMs: 1, outcome: "failed", error: hostile });
  });
  await using opened = await open();
  const { page, errors } = opened;
  expect(await page.locator("#ledgers").innerText()).toContain(hostile);
  expect(await page.locator("#breaks").innerText()).toContain(hostile);
  expect(await page.locator("#runs").innerText()).toContain(hostile);
  expect(await page.locator("main img, main script").count()).toBe(0);
  expect(await page.title()).toBe(`${headlines.breaks.title} – bill-sync`);
  // A link to a break shows it with all that is folded about it: one that is open, one that is signed off.
  const links = await page
    .locator('a[href^="#break-"]')
    .evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
  for (const link of new Set([...links, "#break-1"])) {
    await page.goto(`${server.url}/${link}`);
    await expect.poll(() => page.locator(`tr${link}`).isVisible()).toBe(true);
    const about = page.locator(`tr${link} + .more pre`).last();
    expect((await about.count()) === 0 || (await about.isVisible())).toBe(true);
  }
  expect(links.length).toBeGreaterThan(0);
  expect(errors).toEqual([]);
  void state;
});
