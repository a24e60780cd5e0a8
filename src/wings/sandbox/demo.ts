import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { sql } from "drizzle-orm";
import { readConfig } from "../../accounts/config.ts";
import { everyLedger } from "../../accounts/roster.ts";
import type { Environment } from "../../accounts/settings.ts";
import { answer, type Io, print } from "../../commands/io.ts";
import { openCommandDatabase } from "../../commands/open.ts";
import type { Define } from "../../commands/options.ts";
import { reconcileCommand } from "../../commands/reconcile.ts";
import { statusCommand } from "../../commands/status.ts";
import { syncCommand } from "../../commands/sync.ts";
import { targetsOf } from "../../commands/sync-targets.ts";
import { isDemoProductType } from "../../core/contract/product-types.ts";
import type { Database } from "../../core/postgres/connect.ts";
import { readStoredBills } from "../../core/store/bill-rows.ts";
import { type AccountMode, productTypesOf } from "../../core/words/account-state.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { shellWord } from "../../lib/printable.ts";
import { dayMs, type EpochMs, epochMs, isoTime } from "../../lib/time.ts";
import { done, type Result } from "../../output/result.ts";
import { formatCount } from "../../output/text.ts";
import { modeOption } from "./command.ts";
import { type Comparison, compareWithLedger } from "./comparison.ts";
import { type OpenSandbox, openSandbox, sandboxEnvironment } from "./sandbox.ts";

type DemoFlags = {
  /** Whether to serve the page even without a terminal. */
  readonly open?: boolean;
  /** The mode of the sandbox's account. */
  readonly mode: AccountMode;
};

/**
 * `demo`: runs the real sync of a sandbox exchange into an embedded Postgres of its own. Then
 * compares what is stored with the sandbox's ledger, and serves the page until Ctrl-C.
 */
async function demoCommand(
  environment: Environment,
  io: Io,
  { open = io.out.isTTY, mode }: DemoFlags,
): Promise<Result> {
  await using stack = new AsyncDisposableStack();
  const opened = openSandbox({
    ...{ seed: "demo", port: 0, accountNames: ["main"], modeOf: () => mode },
    productTypes: shownTypes(mode),
  });
  const sandbox = stack.use(await opened);
  const variables = `ACCOUNT_NAME=demo\n${sandboxEnvironment(sandbox)}`;
  const config = readConfig(
    {
      ...parseEnv(variables),
      DATA_DIR: demoDir(environment),
      PRODUCT_TYPES: shownTypes(mode).join(","),
      SYNC_LTV: "true",
      // The sandbox's ledger begins then. The ten days before the last 90 come from tax records.
      RECOVER_FROM: isoTime(epochMs(Date.now() - 100 * dayMs)).slice(0, 10),
      LOG_LEVEL: environment["LOG_LEVEL"],
    },
    { credentials: true },
  );
  print(
    io,
    `a sandbox exchange with 90 days of bills of a ${mode} account is at ${sandbox.url}\n\n` +
      "$ bill-sync sync",
  );
  // Open until the end: otherwise each command would start and stop the server.
  const notify = (message: string) => print(io, message);
  const opening = openCommandDatabase(config.database, { notify, wings: io.wings });
  const database = stack.use(await opening);
  await empty(database.db);
  const startedAt = epochMs(Date.now());
  const synced = await syncCommand(config, io, { selection: everyLedger, targets: targetsOf() });
  if (io.signal.aborted) return stopped;
  answer(io, synced);
  print(io, "\n$ bill-sync status");
  answer(io, await statusCommand(config, io, {}));
  print(io, "\n$ bill-sync reconcile --full");
  const reconciled = answer(io, await reconcileCommand(config, io, { full: true, repair: false }));
  const isEqual = await printComparison(database.db, { sandbox, mode, startedAt }, io);
  if (io.signal.aborted) return stopped;
  const exit = synced.exit === 0 && reconciled === 0 && isEqual ? 0 : 1;
  const serve = open ? await io.wings.serve?.() : undefined;
  if (serve === undefined) return { ...done(), exit };
  print(io, "\n$ bill-sync serve     the page of it, in a browser:");
  const healthLimits = { ...config.healthLimits, maxAgeMs: dayMs };
  const quiet = { ...config, healthLimits, logLevel: "warn" } as const;
  const served = await serve.serveCommand(quiet, io, { port: 0, host: "127.0.0.1" });
  if (served.running !== undefined) stack.use(served.running);
  const dataDir = shellWord(resolve(demoDir(environment)));
  const lines = `DATA_DIR=${dataDir}\nDATABASE_URL=\n${variables}`.trimEnd();
  const first = `its commands need, in another terminal:\n${lines.replaceAll(/^/gm, "export ")}`;
  return { ...served, parts: [...served.parts, first], exit, running: stack.move() };
}

const stopped: Result = {
  ...done("the demo was stopped; bill-sync demo starts it again from the beginning"),
  exit: 1,
};

/** Without the delisted products with coins of their own, which would take a third of the time. */
const shownTypes = (mode: AccountMode) =>
  productTypesOf(mode).filter((productType) => !isDemoProductType(productType));

/** The demo's own folder beside the user's ledger, which the demo does not touch. */
function demoDir({ DATABASE_URL: _, ...environment }: Environment): string {
  const { database } = readConfig(environment, { credentials: false });
  if ("url" in database) throw new Error("defect: a database URL without DATABASE_URL");
  return join(database.dataDir, "demo");
}

/** Empties the database, so that each demo begins with a first sync. */
const empty = async (db: Database): Promise<void> => {
  await db.execute(sql`drop schema if exists drizzle, analytics cascade`);
  await db.execute(sql`drop schema public cascade`);
  await db.execute(sql`create schema public`);
};

type Demonstrated = {
  readonly sandbox: OpenSandbox;
  readonly mode: AccountMode;
  readonly startedAt: EpochMs;
};

async function printComparison(
  db: Database,
  { sandbox: { account }, mode, startedAt }: Demonstrated,
  io: Io,
): Promise<boolean> {
  const inside = { from: horizonAt(epochMs(Date.now())), visibleAt: startedAt };
  const comparisons: Comparison[] = [];
  for (const productType of shownTypes(mode)) {
    const stored = await readStoredBills(db, { account: "demo", productType });
    comparisons.push(compareWithLedger(account.ledger.bills[productType], stored, inside));
  }
  const sum = (pick: (comparison: Comparison) => number) =>
    comparisons.reduce((total, comparison) => total + pick(comparison), 0);
  const equal = sum((comparison) => comparison.equal);
  const expected = sum((comparison) => comparison.expected);
  const extra = sum((comparison) => comparison.extra.length);
  print(
    io,
    `\ncompared with the sandbox's own ledger: ${formatCount(equal)} of ${formatCount(expected)} ` +
      `bills are equal to the last digit,\n${formatCount(extra)} stored bills are not in it`,
  );
  return equal === expected && extra === 0;
}

export const define: Define = (demo, { io, readEnvironment, runs }) => {
  demo
    .addOption(modeOption())
    .option("--open", "serve its page until Ctrl-C even without a terminal")
    .action(runs((words: DemoFlags) => demoCommand(readEnvironment(), io, words)));
};
