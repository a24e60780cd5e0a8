// Makes docs/page.png: `npm run picture`. Data and browser are those of the tests.
import { openDatabase } from "../src/db/connect.ts";
import { migrate } from "../src/db/migrate.ts";
import { openBrowser } from "./support/browser.ts";
import { openPageServer } from "./support/page-server.ts";
import { states } from "./support/page-states.ts";
import { openTestServer } from "./support/postgres-server.ts";

const folder = new URL("../docs/", import.meta.url).pathname;
await using postgres = await openTestServer();
await migrate(postgres.url);
await using tables = openDatabase(postgres.url);
await states["breaks"]?.(tables.db);
await using server = await openPageServer();
server.show(tables);
await using browser = await openBrowser();
const page = await browser.newPage({
  viewport: { width: 1180, height: 960 },
  colorScheme: "light",
});
await page.goto(server.url, { waitUntil: "load" });
await page.screenshot({ path: `${folder}page.png` });
