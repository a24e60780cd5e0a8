// Makes pictures of the page. Data and browser are those of the tests.
//   npm run picture             docs/page.png
//   npm run picture -- FOLDER   every state of the page at five widths, light and dark
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Database, openDatabase } from "../src/core/postgres/connect.ts";
import { migrate } from "../src/core/store/migrate.ts";
import { epochMs, isoTime } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { openBrowser } from "./support/browser.ts";
import { openPageServer } from "./support/page-server.ts";
import { states } from "./support/page-states.ts";
import { openTestServer } from "./support/postgres-server.ts";
import { storeUnified, unifiedEnd, unifiedLedger, unifiedStart } from "./support/unified-ledger.ts";

const widths = [360, 390, 768, 1024, 1280] as const;
const schemes = ["light", "dark"] as const;

type Make = (db: Database) => Promise<void>;
type Shot = { readonly path: string; readonly file: string; readonly isWhole: boolean };
type Look = { readonly width: number; readonly colorScheme: (typeof schemes)[number] };

const folder = process.argv[2];
await using server = await openPageServer();
await using browser = await openBrowser();

if (folder === undefined) {
  const file = new URL("../docs/page.png", import.meta.url).pathname;
  await picture(
    states["breaks"],
    [{ path: "/", file, isWhole: false }],
    [{ width: 1180, colorScheme: "light" }],
  );
} else {
  await mkdir(folder, { recursive: true });
  const looks = widths.flatMap((width) => schemes.map((colorScheme) => ({ width, colorScheme })));
  for (const [name, make] of Object.entries(states))
    await picture(make, shotsOf(folder, name, "/"), looks);
  const day = (time: number) => isoTime(epochMs(time)).slice(0, 10);
  await picture(
    (db) => storeUnified(db, "unified", unifiedLedger(seededRandom("picture"))),
    shotsOf(folder, "unified", `/?from=${day(unifiedStart)}&to=${day(unifiedEnd)}&exact=1`),
    looks,
  );
  console.log(`${folder} has a picture of each state at each width, light and dark`);
}

function shotsOf(into: string, name: string, path: string): readonly Shot[] {
  const file = join(into, name.replaceAll(" ", "-"));
  const whole = { path, file, isWhole: true };
  if (name !== "breaks") return [whole];
  return [
    whole,
    { path: "/?view=days", file: `${file}-days`, isWhole: false },
    { path: "/bills", file: `${file}-bills`, isWhole: false },
    { path: "/runs", file: `${file}-runs`, isWhole: false },
  ];
}

async function picture(
  make: Make | undefined,
  shots: readonly Shot[],
  looks: readonly Look[],
): Promise<void> {
  await using postgres = await openTestServer();
  await migrate(postgres.url);
  await using tables = openDatabase(postgres.url);
  await make?.(tables.db);
  server.show(tables);
  for (const { width, colorScheme } of looks) {
    const page = await browser.newPage({ viewport: { width, height: 960 }, colorScheme });
    for (const { path, file, isWhole } of shots) {
      await page.goto(server.url + path, { waitUntil: "load" });
      const end = looks.length === 1 ? "" : `-${width}-${colorScheme}.png`;
      await page.screenshot({ path: file + end, fullPage: isWhole });
    }
    await page.close();
  }
}
