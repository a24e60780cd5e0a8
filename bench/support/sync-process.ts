import { setTimeout as sleep } from "node:timers/promises";
import { classicProductTypes, type ProductType } from "../../src/core/contract/product-types.ts";
import { createAddressLimits } from "../../src/core/exchange/address-limits.ts";
import { createClient } from "../../src/core/exchange/client.ts";
import { createExchangeClock } from "../../src/core/exchange/exchange-clock.ts";
import type { RateLimiter } from "../../src/core/exchange/rate-limiter.ts";
import { openTransport } from "../../src/core/exchange/transport.ts";
import { openDatabase } from "../../src/core/postgres/connect.ts";
import { Leases } from "../../src/core/store/lease.ts";
import { openStore } from "../../src/core/store/ledger-store.ts";
import { syncAccount } from "../../src/core/sync/run.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Secret } from "../../src/lib/secret.ts";
import { minuteMs } from "../../src/lib/time.ts";

/*
 * The real sync of many accounts, without the exchange's rate limit, in a process of its own.
 * Prints its result and cost. Run by syncProcess.
 */

type Job = {
  readonly databaseUrl: string;
  readonly exchangeUrl: string;
  readonly accounts: number;
  readonly productTypesEach: number;
};

const job: Job = JSON.parse(process.argv[2] ?? "");
const unlimited: RateLimiter = {
  run: (send) => send(() => undefined),
  holdOff: () => undefined,
  resize: () => Promise.resolve(),
};

await using database = openDatabase(job.databaseUrl);
await using transport = openTransport();
const { db } = database;

const hold = async (account: string) => {
  const lease = await new Leases(db).take(account, { signal: new AbortController().signal });
  return {
    store: openStore(db, lease),
    assertHeld: lease.assertHeld,
    [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
  };
};

const exchangeOf = () => {
  const exchangeClock = createExchangeClock(systemClock.now);
  const client = createClient({
    baseUrl: new URL(job.exchangeUrl),
    credentials: {
      key: new Secret("key"),
      secret: new Secret("secret"),
      passphrase: new Secret("pass"),
    },
    transport,
    clock: systemClock,
    exchangeClock,
    random: Math.random,
    limiterOf: () => unlimited,
    address: createAddressLimits(systemClock),
  });
  return { client, exchangeNow: exchangeClock.now };
};

const failures: unknown[] = [];

const sync = async (name: string, wanted: readonly ProductType[]) => {
  await using leased = await hold(name);
  const deps = {
    ...exchangeOf(),
    leased,
    settleLagMs: 10 * minuteMs,
    sleep: systemClock.sleep,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    onFailure: (failure: unknown) => failures.push(failure),
  };
  return await syncAccount(deps, { name, productTypes: wanted });
};

const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
const reports = await Promise.all(
  Array.from({ length: job.accounts }, (_, index) =>
    sync(`bench-${index}`, classicProductTypes.slice(0, job.productTypesEach)),
  ),
);
const seconds = (performance.now() - startedAt) / 1_000;
const cpu = process.cpuUsage(cpuBefore);
const ledgers = reports.flatMap((report) => report.ledgers);
const errors = [...failures, ...[...reports, ...ledgers].map(({ error }) => error)].filter(
  (error) => error !== undefined,
);
for (const error of errors) console.error(error);
const sum = (pick: (ledger: (typeof ledgers)[number]) => number) =>
  ledgers.reduce((total, ledger) => total + pick(ledger), 0);
process.stdout.write(
  JSON.stringify({
    errors: errors.length,
    new: sum((ledger) => ledger.new),
    unchanged: sum((ledger) => ledger.unchanged),
    requests: sum((ledger) => ledger.requests),
    seconds,
    cpuSeconds: (cpu.user + cpu.system) / 1_000_000,
    maxRssMiB: process.resourceUsage().maxRSS / 1_024,
  }),
);
await sleep(0);
