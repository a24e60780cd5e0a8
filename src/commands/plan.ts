import { systemClock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { accountBills, pageSizeMax } from "../contract/account-bills.ts";
import { symbols } from "../contract/symbols.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { readKnownTime } from "../db/store.ts";
import { addressLimit } from "../exchange/address-limits.ts";
import { openTransport, type Transport } from "../exchange/transport.ts";
import { planStream } from "../sync/plan.ts";
import type { StreamPlan } from "../sync/store.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatInterval,
  formatLength,
  formatMinute,
  formatTable,
  isoInterval,
} from "../terminal/format.ts";
import { streamColumn, streamName } from "../terminal/stream-names.ts";
import { exchangeOf } from "./exchange.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";

/** `plan`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
export async function planCommand(
  config: Config,
  io: Io,
  options: { readonly json: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => {
    io.err.write(`${message}\n`);
  });
  await using transport = openTransport();
  const now = await exchangeTime(config, transport, io.signal);
  const isNew = !(await hasSchema(database.db));
  const plans: StreamPlan[] = [];
  for (const { name, productTypes } of config.accounts) {
    for (const productType of productTypes) {
      const stream = { account: name, productType };
      const known = isNew ? nothingKnown : await readKnownTime(database.db, stream);
      plans.push(planStream(stream, known, now));
    }
  }
  if (options.json) printJson(io, planJson(plans, now));
  else print(io, planText(plans));
  return 0;
}

/** Any public answer carries the exchange's time; that of one symbol is the smallest. */
async function exchangeTime(
  config: Config,
  transport: Transport,
  signal: AbortSignal,
): Promise<EpochMs> {
  const deps = { transport, clock: systemClock, random: Math.random };
  const { client, exchangeNow } = exchangeOf(config, {}, deps);
  await client.ask(symbols, { symbol: "BTCUSDT" }, { signal });
  return exchangeNow();
}

const nothingKnown = { coverage: [], expired: [], open: [] };

export type PlanCost = {
  readonly windows: number;
  readonly requestsMin: number;
  readonly durationMs: number;
};

/**
 * The least that a plan takes: each window a request at least, which finds it empty, and each
 * account one to greet. Accounts are synced side by side, each under a limit of its own and
 * one of the address.
 */
export function planCost(plans: readonly StreamPlan[]): PlanCost {
  const byAccount = Map.groupBy(plans, ({ stream }) => stream.account);
  const requests = [...byAccount.values()].map((own) => 1 + windowsOf(own));
  const requestsMin = requests.reduce((sum, count) => sum + count, 0);
  const { limit } = accountBills;
  return {
    windows: windowsOf(plans),
    requestsMin,
    durationMs: Math.max(
      (Math.max(0, ...requests) * limit.perMs) / limit.requests,
      (requestsMin * addressLimit.perMs) / addressLimit.requests,
    ),
  };
}

const windowsOf = (plans: readonly StreamPlan[]): number =>
  plans.reduce((sum, { walks }) => sum + walks.length, 0);

export function planText(plans: readonly StreamPlan[]): string {
  const { title, nameOf } = streamColumn(plans.map(({ stream }) => stream));
  const table = formatTable(
    [title, "windows", "resumed", "time", "from"],
    plans.map((plan) => [nameOf(plan.stream), ...planCells(plan)]),
  );
  const { windows, requestsMin, durationMs } = planCost(plans);
  return [
    table,
    "",
    ...plans.flatMap(({ stream, expired }) =>
      expired.map((time) => `${streamName(stream)}: lost ${formatInterval(time)}`),
    ),
    `${formatCounted(windows, "window")}, ${formatCounted(requestsMin, "request")} at least, ` +
      `${formatDuration(durationMs)} at ${accountBills.limit.requests} a second`,
    `and a request more for every page of up to ${pageSizeMax} bills`,
  ].join("\n");
}

function planCells({ walks }: StreamPlan): readonly string[] {
  const windows = walks.map(({ window }) => window);
  return [
    formatCount(walks.length),
    formatCount(walks.filter(({ cursor }) => cursor !== undefined).length),
    formatLength(windows),
    formatMinute(windows[0]?.from),
  ];
}

function planJson(plans: readonly StreamPlan[], now: EpochMs): object {
  const { windows, requestsMin, durationMs } = planCost(plans);
  return {
    exchangeTime: isoTime(now),
    windows,
    requestsMin,
    durationMs,
    streams: plans.map(({ stream, walks, expired }) => ({
      ...stream,
      windows: walks.map(({ window, cursor }) => ({
        ...isoInterval(window),
        resumed: cursor !== undefined,
      })),
      expired: expired.map(isoInterval),
    })),
  };
}
