// One accounts file with a classic, a unified, a demo and an upgrading account works with one command each: the
// others are read while one is on its way, and afterwards exactly the time is named that no run could read;
// each stored bill, and how many bills verify and reconcile looked at, are the exchange's own.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import {
  classicProductTypes,
  demoKeyProductTypes,
  isDemoProductType,
  type ProductType,
  walletOf,
} from "../src/contract/product-types.ts";
import { dayMs, type EpochMs, epochMs, hourMs, isoTime, minuteMs } from "../src/contract/time.ts";
import { readAccountStates } from "../src/db/accounts/account-states.ts";
import { openDatabase } from "../src/db/connect.ts";
import { Refusal } from "../src/exchange-server/source.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import { compareWithLedger } from "../src/sandbox/comparison.ts";
import { openSandbox, type SandboxAccount, type SandboxOptions } from "../src/sandbox/sandbox.ts";
import { productTypesOf } from "../src/sync/account-state.ts";
import { horizonAt } from "../src/sync/plan.ts";
import { entryOf, writeAccounts } from "./support/accounts-file.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly } from "./support/sandbox-ledger.ts";

const always = (mode: string) => [{ at: Number.NEGATIVE_INFINITY, mode }];
const delisted = new Refusal(400, "400172", "Parameter verification failed productType");
const delistedTypes: readonly ProductType[] = classicProductTypes.filter(isDemoProductType);
const unifiedTypes = productTypesOf("unified");
const liveTypes = productTypesOf("classic").filter(
  (productType) => !isDemoProductType(productType),
);
const demoTypes = liveTypes.filter((productType) => demoKeyProductTypes.includes(productType));

/**
 * Accounts of every kind at one exchange, whose clock the test sets ahead, and the program configured for
 * them.
 */
async function house(options: Partial<SandboxOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const clock = { aheadMs: 0 };
  const now = () => performance.timeOrigin + performance.now() + clock.aheadMs;
  const upgradedAt = Math.floor(now()) + hourMs;
  const sandbox = stack.use(
    await openSandbox({
      seed: "kinds",
      density: 0.05,
      accountNames: ["classic", "unified", "demo", "upgraded"],
      isDemoKey: (name) => name === "demo",
      modesOf: (name) =>
        name === "upgraded"
          ? [
              ...always("classic"),
              { at: upgradedAt, mode: "upgrading" },
              { at: upgradedAt + hourMs / 2, mode: "unified" },
            ]
          : always(name === "unified" ? "hybrid" : "classic"),
      alterCredential: (credential) => ({
        ...credential,
        refused: new Map(delistedTypes.map((productType) => [productType, delisted])),
      }),
      now,
      ...options,
    }),
  );
  const database = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(database.url));
  const folder = stack.use(await temporaryFolder());
  const entries = sandbox.accounts.map((account) => ({
    ...entryOf(account),
    ...(account.name === "demo" ? { demo: true } : {}),
  }));
  const env = {
    DATABASE_URL: database.url,
    EXCHANGE_BASE_URL: sandbox.url,
    ACCOUNTS_FILE: await writeAccounts(folder.path, entries),
  };
  return {
    sandbox,
    db,
    clock,
    now,
    upgradedAt,
    run: (...args: readonly string[]) => runCli(args, { env }),
    /** Compares what is stored of an account with what its ledger showed at a time. */
    async compare(
      { name, ledger }: SandboxAccount,
      productTypes: readonly ProductType[],
      visibleAt: number,
    ) {
      const inside = {
        from: epochMs(horizonAt(epochMs(visibleAt)) + minuteMs),
        visibleAt: epochMs(visibleAt),
      };
      let expected = 0;
      for (const productType of productTypes) {
        const stored = await readStoredBills(db, { account: name, productType });
        const compared = compareWithLedger(ledger.bills[productType], stored, inside);
        expect({ name, productType, ...compared }).toMatchObject(exactly);
        expected += compared.expected;
      }
      return expected;
    },
    /** All that is stored of an account, except its runs. */
    async written(name: string) {
      const { rows } = await db.execute(sql`
        select
          (select string_agg(bills::text, ',' order by product_type, bill_id) from bills where account = ${name}),
          (select string_agg(windows::text, ',' order by product_type, window_start) from windows where account = ${name}),
          (select string_agg(streams::text, ',' order by product_type) from streams where account = ${name})`);
      return rows;
    },
    async isDemo(name: string) {
      return (await readAccountStates(db, name)).of(name).isDemo;
    },
    /** How many of the ledgers' own bills are stored, by the ledger's wallet and coin. */
    async storedByWallet() {
      const counts = new Map<string, number>();
      for (const { name, ledger } of sandbox.accounts) {
        for (const productType of [...liveTypes, ...unifiedTypes]) {
          const stored = await readStoredBills(db, { account: name, productType });
          const ids = new Set(stored.map(({ billId }) => billId));
          for (const { billId, coin } of ledger.bills[productType]) {
            if (!ids.has(billId)) continue;
            const chain = chainOf({ account: name, productType: walletOf(productType), coin });
            counts.set(chain, (counts.get(chain) ?? 0) + 1);
          }
        }
      }
      return counts;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The product types of an account that are read once the upgrade is over. */
const typesNow = (name: string): readonly ProductType[] =>
  name === "unified" || name === "upgraded" ? unifiedTypes : classicTypesOf(name);
const classicTypesOf = (name: string) => (name === "demo" ? demoTypes : liveTypes);

/** How many bills `verify --json` compared, by account and product type. */
function comparedIn(json: string): readonly (readonly [string, number])[] {
  type Verified = Record<"account" | "productType", string> & { readonly compared: number };
  const { streams }: { readonly streams: readonly Verified[] } = JSON.parse(json);
  return streams.map((one) => [`${one.account}/${one.productType}`, one.compared]);
}

type Chain = Readonly<Record<"account" | "productType" | "coin", string>>;
type Reconciled = {
  readonly breaks: readonly (Chain & { readonly kind: string })[];
  readonly chains: readonly (Chain & {
    readonly bills: number;
    readonly days: { broken: number };
  })[];
};

const chainOf = ({ account, productType, coin }: Chain): string =>
  `${account}/${productType} ${coin}`;

const accountNamed = (accounts: readonly SandboxAccount[], name: string): SandboxAccount => {
  const account = accounts.find((one) => one.name === name);
  if (account === undefined) throw new Error(`there is no account ${name}`);
  return account;
};

test("one accounts file with a classic, a unified, a demo and an upgrading account: one command each, and every bill is the exchange's own", async () => {
  await using at = await house();
  const of = (name: string) => accountNamed(at.sandbox.accounts, name);
  const planned = await at.run("sync", "--dry-run", "--only", "bills");
  expect(planned.stderr).toMatch(/^4 accounts never synced: planned as classic; /);
  const first = at.now();
  const synced = await at.run("sync", "--only", "bills");
  const firstEnded = at.now();
  expect(synced.code, synced.stdout + synced.stderr).toBe(0);
  expect(synced.stdout).toMatch(
    /^classic: not available to its key: SUSDT-FUTURES, SCOIN-FUTURES, SUSDC-FUTURES: .*400172/m,
  );
  expect(await at.compare(of("classic"), liveTypes, first)).toBeGreaterThan(50);
  expect(await at.compare(of("demo"), demoTypes, first)).toBeGreaterThan(50);
  expect(await at.compare(of("unified"), unifiedTypes, first)).toBeGreaterThan(50);
  expect(await at.compare(of("upgraded"), liveTypes, first)).toBeGreaterThan(50);
  expect(await at.isDemo("demo")).toBe(true);
  expect(await at.isDemo("unified")).toBe(false);

  // Meanwhile the exchange upgrades one of the accounts. It is left alone, and the others are read.
  at.clock.aheadMs = hourMs + minuteMs;
  const before = await at.written("upgraded");
  const inTransit = at.now();
  const transit = await at.run("sync", "--only", "bills");
  expect(transit.code).toBe(1);
  expect(transit.stdout).toMatch(
    /^upgraded: account upgraded is changing between classic and unified \(the exchange calls its mode "upgrading"\)/m,
  );
  expect(transit.stdout).toMatch(/^NOT complete \(3 of 4 accounts are complete\)/m);
  expect(await at.written("upgraded")).toEqual(before);
  await at.compare(of("classic"), liveTypes, inTransit);
  await at.compare(of("demo"), demoTypes, inTransit);
  await at.compare(of("unified"), unifiedTypes, inTransit);

  at.clock.aheadMs = 2 * hourMs;
  const second = at.now();
  const moved = await at.run("sync", "--only", "bills");
  const secondEnded = at.now();
  // Time that was not read before the upgrade can no longer be read, and this run says so.
  expect(moved.code, moved.stdout + moved.stderr).toBe(1);
  expect(await at.compare(of("upgraded"), liveTypes, first)).toBeGreaterThan(50);
  await at.compare(of("upgraded"), unifiedTypes, second);
  await at.compare(of("classic"), liveTypes, second);
  await at.compare(of("unified"), unifiedTypes, second);

  const status = await at.run("status");
  // Streams that ended in different minutes have lines of their own.
  expect(moved.stdout).toMatch(
    /^(?:upgraded\/[A-Z, -]+: closed .*: became unified, complete through .*; .* were not read, and can be read only if the account is switched back\n)+/m,
  );
  expect(status.stdout).toMatch(/^warning +upgraded\/\S+ not read .*, before the account changed/m);
  expect(status.stdout.match(/^upgraded\/\S+ .* closed$/gm)).toHaveLength(liveTypes.length);
  const json = JSON.parse((await at.run("status", "--json")).stdout);
  type AccountJson = { account: string; mode: string; notAvailable: readonly object[] };
  const accounts: readonly AccountJson[] = json.accounts;
  expect(accounts.toSorted((a, b) => (a.account < b.account ? -1 : 1))).toMatchObject([
    { account: "classic", mode: "classic", notAvailable: [{}, {}, {}] },
    { account: "demo", mode: "classic", notAvailable: [] },
    { account: "unified", mode: "unified", notAvailable: [] },
    { account: "upgraded", mode: "unified" },
  ]);
  type StreamJson = { account: string; productType: ProductType; [name: string]: unknown };
  const streams: readonly StreamJson[] = json.streams;
  const closed = streams.filter(({ closedAt }) => closedAt !== null);
  expect(closed.map(({ account, productType }) => [account, productType])).toEqual(
    liveTypes.map((productType) => ["upgraded", productType]),
  );
  for (const one of closed) {
    expect(one).toMatchObject({ unread: [{}], expiresAt: null, behindMs: 0 });
    // Exactly from ten minutes before the last run that could read the streams, to the run that found them
    // closed.
    const [{ fromMs, toMs }] = one["unread"] as [Record<"fromMs" | "toMs", number>];
    expect(fromMs).toBeGreaterThanOrEqual(Math.floor(first) - 10 * minuteMs);
    expect(fromMs).toBeLessThanOrEqual(firstEnded - 10 * minuteMs);
    expect(toMs).toBeGreaterThanOrEqual(Math.floor(second));
    expect(toMs).toBeLessThanOrEqual(secondEnded);
  }
  for (const { account, productType, bills } of streams) {
    expect([account, productType, bills]).toEqual([
      account,
      productType,
      (await readStoredBills(at.db, { account, productType })).length,
    ]);
  }
  expect(streams.filter(({ account }) => account === "demo")).toHaveLength(3);

  const [from20, to1] = [20, 1].map((days) => epochMs(Math.floor(first - days * dayMs))) as [
    EpochMs,
    EpochMs,
  ];
  const span = ["--from", isoTime(from20), "--to", isoTime(to1)];
  const verified = await at.run("verify", ...span, "--json");
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  expect(comparedIn(verified.stdout)).toEqual(
    at.sandbox.accounts.flatMap((account) =>
      typesNow(account.name).map((productType) => [
        `${account.name}/${productType}`,
        account.ledger.bills[productType].filter(
          ({ cTime, visibleAt }) => cTime >= from20 && cTime < to1 && visibleAt <= second,
        ).length,
      ]),
    ),
  );
  expect(verified.stderr).toMatch(
    /^upgraded: not compared: .*USDT-FUTURES.*: the account is unified now/m,
  );
  const reconciled = await at.run("reconcile", "--full", "--json");
  const { breaks, chains }: Reconciled = JSON.parse(reconciled.stdout);
  const checked = chains.map((one) => [
    `${one.account}/${one.productType} ${one.coin}`,
    one.bills,
    one.days.broken > 0,
  ]);
  expect(checked.toSorted()).toEqual(
    [...(await at.storedByWallet())]
      .map(([chain, bills]) => [chain, bills, breaks.some((one) => chainOf(one) === chain)])
      .toSorted(),
  );
  // What was not settled at the upgrade is lost, and so is a bill that appeared late just before it.
  const outOfReach = breaks.filter(
    ({ account, kind }) => account === "upgraded" && ["unread", "lost"].includes(kind),
  );
  expect(breaks).toEqual(outOfReach);
  expect(reconciled.code, reconciled.stderr).toBe(breaks.length === 0 ? 0 : 1);
  const listed = await at.run("accounts", "list");
  expect(listed.stdout).toMatch(/^upgraded\/USDT-FUTURES +closed: became unified +20/m);
  expect(listed.stdout).toMatch(/^unified\/UTA-OTHER +read +-$/m);
  expect((await at.run("sync", "--dry-run")).stdout).not.toMatch(/^upgraded\/USDT-FUTURES/m);

  const doctor = await at.run("doctor");
  expect(doctor.stdout).toMatch(
    /^ok {4}account classic .*a classic account; its key reads bills of USDT-FUTURES, .*; not available to it: SUSDT/m,
  );
  expect(doctor.stdout).toMatch(
    /^\w+ {2,4}account unified .*a unified account; its key reads bills of UTA-SPOT, .*it may only read/m,
  );
}, 300_000);
