// Makes docs/page.png, by `npm run picture`. Data and browser are those of the tests.
import { openDatabase } from "../src/core/postgres/connect.ts";
import { openBrowser } from "./support/browser.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { openPageServer } from "./support/page-server.ts";
import { states } from "./support/page-states.ts";
import { openTestServer } from "./support/postgres-server.ts";

await using server = await openPageServer();
await using browser = await openBrowser();
await using postgres = await openTestServer();
await migrateAt(postgres.url);
await using tables = openDatabase(postgres.url);
await states["breaks"]?.(tables.db);
server.show(tables);
const page = await browser.newPage({
  viewport: { width: 1180, height: 960 },
  colorScheme: "light",
});
await page.goto(server.url, { waitUntil: "load" });
await page.screenshot({ path: new URL("../docs/page.png", import.meta.url).pathname });
