import { pageSizeMax } from "../contract/account-bills.ts";
import { isApartWallet, isUnified, unifiedProductTypes } from "../contract/product-types.ts";
import { symbols } from "../contract/symbols.ts";
import type { EpochMs } from "../contract/time.ts";
import { type AccountStates, noStates, readAccountStates } from "../db/accounts/account-states.ts";
import { hasSchema } from "../db/migrate.ts";
import { type ExchangeAccess, exchangeOf, openExchangeAccess } from "../exchange/session.ts";
import { readKnownTimes } from "../ledger/known-time.ts";
import {
  formatCounted,
  formatInterval,
  jsonInterval,
  jsonTime,
  streamName,
} from "../output/format.ts";
import { type Columns, ledgerColumns, type Result, table } from "../output/result.ts";
import type { Config } from "../roster/config.ts";
import { readableTypes } from "../roster/roster.ts";
import { reachableToRead } from "../roster/to-read.ts";
import { nothingToRead } from "../sync/account-mode.ts";
import { planStream } from "../sync/plan.ts";
import { historyRequests } from "../sync/recover.ts";
import type { StreamPlan } from "../sync/store.ts";
import { riskUnitsOf } from "../sync/sync-loan-to-value.ts";
import { type Io, note } from "./io.ts";
import { openWritable, withUnreachable } from "./stored.ts";
import { historyFromOf, type RunDeps } from "./sync-run.ts";

/** `sync --dry-run`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
export async function planCommand(
  given: Config,
  io: Io,
  { targets, contractTypes }: Pick<RunDeps, "targets" | "contractTypes">,
): Promise<Result> {
  await using database = await openWritable(given, io);
  const { db } = database;
  await using access = openExchangeAccess();
  const now = await exchangeTime(given, access, io.signal);
  const isNew = !(await hasSchema(db));
  const {
    config: wanted,
    notices,
    unreachable,
  } = isNew ? { config: given, notices: [], unreachable: [] } : await reachableToRead(db, given);
  const names = wanted.accounts.map(({ name }) => name);
  const states = isNew ? noStates : await readAccountStates(db, names);
  const lines = [...notices, ...refusals(wanted, states), ...neverSynced(wanted, states)];
  for (const line of lines) note(io, line);
  const streams = wanted.accounts.flatMap((account) =>
    readableTypes(account, states.of(account.name)).map((productType) => ({
      account: account.name,
      productType,
    })),
  );
  const times = isNew ? { of: () => nothingKnown } : await readKnownTimes(db, streams);
  const { settleLagMs } = wanted;
  const plans = streams.map((stream) => planStream(stream, times.of(stream), { now, settleLagMs }));
  const loans = wanted.accounts.filter(({ ltv = false }) => ltv);
  const others =
    (targets.has("symbols") ? 1 : 0) +
    (targets.has("contracts") ? contractTypes.length : 0) +
    loans.reduce((sum, { riskUnitIds = [] }) => sum + riskUnitsOf(riskUnitIds).length, 0);
  const historyFrom = targets.has("bills") ? historyFromOf(wanted, now) : undefined;
  const history =
    historyFrom === undefined
      ? 0
      : streams.reduce((sum, stream) => {
          const known = times.of(stream);
          return sum + historyRequests(known, stream.productType, { historyFrom, now });
        }, 0);
  const { data, parts } = planResult(plans, others, history);
  const whole = { data: { exchangeTime: jsonTime(now), ...data }, parts, exit: 0 } as const;
  return withUnreachable(whole, unreachable);
}

/**
 * The lines that a run would print for accounts whose mode has none of the configured product
 * types. The mode is that of the last run.
 */
const refusals = ({ accounts }: Config, states: AccountStates): readonly string[] =>
  accounts.flatMap((account) => {
    const { mode } = states.of(account.name);
    return (mode && nothingToRead(account, mode.is)) ?? [];
  });

/** A line on accounts of unknown mode, which a plan takes for classic ones. */
function neverSynced({ accounts }: Config, states: AccountStates): readonly string[] {
  const names = accounts
    .filter(({ name, readsAll = false }) => readsAll && states.of(name).mode === undefined)
    .map(({ name }) => name);
  const [first, ...others] = names;
  if (first === undefined) return [];
  const who = others.length === 0 ? `account ${first} was` : `${names.length} accounts were`;
  return [
    `${who} never synced: planned as classic; a unified account, as the exchange makes them today, ` +
      "has other product types and fewer windows, and its first sync finds that out",
  ];
}

/**
 * Every public answer carries the exchange's time, and the answer for one symbol is the smallest.
 */
async function exchangeTime(
  config: Config,
  access: ExchangeAccess,
  signal: AbortSignal,
): Promise<EpochMs> {
  const { client, exchangeNow } = exchangeOf(config, {}, access);
  await client.ask(symbols, { symbol: "BTCUSDT" }, { signal });
  return exchangeNow();
}

const nothingKnown = { coverage: [], lost: [], open: [] };

// An empty window takes two requests, which ask in two ways. An account is asked for its mode first, and whose key it is.
const requestsPerAccount = 2;
const requestsPerWindow = 2;

/** How many balances are asked for: one a wallet, and that of a unified account where all of it is read. */
function balanceRequests(plans: readonly StreamPlan[]): number {
  const streams = plans
    .map(({ stream }) => stream)
    .filter(({ productType }) => !isApartWallet(productType));
  const ofUnified = streams.filter(({ productType }) => isUnified(productType));
  const wholes = [...Map.groupBy(ofUnified, ({ account }) => account).values()].filter(
    (categories) => categories.length === unifiedProductTypes.length,
  );
  return wholes.length + streams.length - ofUnified.length;
}

/** What a sync would read, and the least that it takes. */
export function planResult(
  plans: readonly StreamPlan[],
  others = 0,
  historyRequests = 0,
): Pick<Result, "data" | "parts"> {
  const windows = plans.reduce((sum, { walks }) => sum + walks.length, 0);
  const accounts = new Set(plans.map(({ stream }) => stream.account)).size;
  const requestsMin =
    others + requestsPerAccount * accounts + balanceRequests(plans) + requestsPerWindow * windows;
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
    data: { windows, requestsMin, historyRequests },
    parts: [
      table("streams", columns, plans),
      ...plans.flatMap(({ stream, lost }) =>
        lost.map((time) => `${streamName(stream)}: lost ${formatInterval(time)}`),
      ),
      `${formatCounted(windows, "window")}, ${formatCounted(requestsMin, "request")} at least` +
        (windows === 0 ? "" : `, plus one for every page of up to ${pageSizeMax} bills`),
      ...(historyRequests === 0
        ? []
        : [
            `${formatCounted(historyRequests, "request")} for older time in tax records, one a second, where they agree ` +
              "with the bills and have no more rows than an answer holds",
          ]),
    ],
  };
}
