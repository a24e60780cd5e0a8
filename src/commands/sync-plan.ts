import { pageSizeMax } from "../contract/account-bills.ts";
import { symbols } from "../contract/symbols.ts";
import type { EpochMs } from "../contract/time.ts";
import { type AccountStates, noStates, readAccountStates } from "../db/accounts/account-states.ts";
import { hasSchema } from "../db/migrate.ts";
import { exchangeOf, openExchangeAccess } from "../exchange/session.ts";
import { readKnownTimes } from "../ledger/known-time.ts";
import {
  formatCounted,
  formatInterval,
  jsonInterval,
  jsonTime,
  streamName,
} from "../output/format.ts";
import { type Columns, ledgerColumns, type Result, table } from "../output/result.ts";
import type { Account } from "../roster/account.ts";
import type { Config } from "../roster/config.ts";
import { readableTypes } from "../roster/roster.ts";
import { accountsToRead } from "../roster/to-read.ts";
import { nothingToRead } from "../sync/account-mode.ts";
import { planStream } from "../sync/plan.ts";
import type { StreamPlan } from "../sync/store.ts";
import { type Io, note } from "./io.ts";
import { openWritable, withUnreachable } from "./stored.ts";
import { forTargets, type RunDeps } from "./sync-run.ts";

/** `sync --dry-run`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
export async function planCommand(
  config: Config,
  io: Io,
  { selection, targets }: Pick<RunDeps, "selection" | "targets">,
): Promise<Result> {
  await using database = await openWritable(config, io);
  const db = (await hasSchema(database.db)) ? database.db : undefined;
  const now = await exchangeTime(config, io.signal);
  const { accounts: read, notices, unreachable } = await accountsToRead(db, config, selection);
  const accounts = forTargets(read, targets);
  const states = db
    ? await readAccountStates(
        db,
        accounts.map(({ name }) => name),
      )
    : noStates;
  for (const line of [...notices, ...remarks(accounts, states)]) note(io, line);
  const streams = accounts.flatMap((account) =>
    readableTypes(account, states.of(account.name)).map((productType) => ({
      account: account.name,
      productType,
    })),
  );
  const times = db ? await readKnownTimes(db, streams) : { of: () => nothingKnown };
  const { settleLagMs } = config;
  const plans = streams.map((stream) => planStream(stream, times.of(stream), { now, settleLagMs }));
  const { data, parts } = planResult(plans);
  const whole = { data: { exchangeTime: jsonTime(now), ...data }, parts, exit: 0 } as const;
  return withUnreachable(whole, unreachable);
}

/** Every public answer carries the exchange's time, and the answer for one symbol is the smallest. */
async function exchangeTime(config: Config, signal: AbortSignal): Promise<EpochMs> {
  await using access = openExchangeAccess();
  const { client, exchangeNow } = exchangeOf(config, {}, access);
  await client.ask(symbols, { symbol: "BTCUSDT" }, { signal });
  return exchangeNow();
}

const nothingKnown = { coverage: [], lost: [], open: [] };

/** Lines on accounts whose mode, as the last run learned it, has no configured product type, and of unknown mode. */
function remarks(accounts: readonly Account[], states: AccountStates): readonly string[] {
  const refusals = accounts.flatMap((account) => {
    const { mode } = states.of(account.name);
    return (mode && nothingToRead(account, mode.is)) ?? [];
  });
  const unknown = accounts.filter(
    ({ name, readsAll = false }) => readsAll && states.of(name).mode === undefined,
  );
  if (unknown.length === 0) return refusals;
  return [
    ...refusals,
    `planned as classic until their first sync: ${formatCounted(unknown.length, "account")}; a unified account, as the ` +
      "exchange makes them today, has other product types and fewer windows",
  ];
}

// An empty window takes two requests, which ask in two ways.
const requestsPerWindow = 2;

/** What a sync would read of bills, and the least that it takes. */
export function planResult(plans: readonly StreamPlan[]): Pick<Result, "data" | "parts"> {
  const windows = plans.reduce((sum, { walks }) => sum + walks.length, 0);
  const requestsMin = requestsPerWindow * windows;
  const spansOf = ({ walks }: StreamPlan) => walks.map(({ window }) => window);
  const columns: Columns<StreamPlan> = {
    ...ledgerColumns(plans, ({ stream }) => stream),
    count: { kind: "count", title: "windows", isForPeople: true, of: ({ walks }) => walks.length },
    resumed: {
      kind: "count",
      isForPeople: true,
      of: ({ walks }) => walks.filter(({ cursor }) => cursor !== undefined).length,
    },
    time: { kind: "spans", isForPeople: true, of: spansOf },
    from: { kind: "time", isForPeople: true, of: (plan) => spansOf(plan)[0]?.from },
    windows: {
      kind: "value",
      of: ({ walks }) =>
        walks.map(({ window, cursor }) => ({
          ...jsonInterval(window),
          resumed: cursor !== undefined,
        })),
    },
    lost: { kind: "spans", title: "", of: ({ lost }) => lost },
  };
  return {
    data: { windows, requestsMin },
    parts: [
      table("streams", columns, plans),
      ...plans.flatMap(({ stream, lost }) =>
        lost.map((time) => `${streamName(stream)}: lost ${formatInterval(time)}`),
      ),
      `${formatCounted(windows, "window")}, ${formatCounted(requestsMin, "request")} at least` +
        (windows === 0 ? "" : `, plus one for every page of up to ${pageSizeMax} bills`),
    ],
  };
}
