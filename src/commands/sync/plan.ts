import { pageSizeMax } from "../../contract/account-bills.ts";
import { billsApiOf } from "../../contract/bills-api.ts";
import { contracts } from "../../contract/contracts.ts";
import { loanToValue, unifiedLoanToValue } from "../../contract/loan-to-value.ts";
import type { Operation } from "../../contract/operation.ts";
import { type ContractProductType, isUnified } from "../../contract/product-types.ts";
import { symbols } from "../../contract/symbols.ts";
import type { EpochMs } from "../../contract/time.ts";
import {
  type AccountStates,
  noStates,
  readAccountStates,
} from "../../db/accounts/account-states.ts";
import { hasSchema } from "../../db/migrate.ts";
import { openCommandDatabase } from "../../db/open.ts";
import { addressLimit } from "../../exchange/address-limits.ts";
import { type ExchangeAccess, exchangeOf, openExchangeAccess } from "../../exchange/session.ts";
import { readKnownTimes } from "../../ledger/known-time.ts";
import { formatCounted, formatDuration, formatInterval } from "../../output/format.ts";
import { jsonInterval, jsonTime } from "../../output/json-times.ts";
import { type Columns, ledgerColumns, type Result, table } from "../../output/result.ts";
import { streamName } from "../../output/stream-names.ts";
import { unreachableJson, unreachableLines } from "../../output/unreachable-text.ts";
import type { Config } from "../../roster/config.ts";
import { readableTypes } from "../../roster/roster.ts";
import { reachableToRead } from "../../roster/to-read.ts";
import { nothingToRead } from "../../sync/account-mode.ts";
import { planStream } from "../../sync/plan.ts";
import type { StreamPlan } from "../../sync/store.ts";
import { riskUnitsOf } from "../../sync/sync-loan-to-value.ts";
import { type ExitCode, type Io, tell } from "../io.ts";
import { answer } from "../options.ts";
import { allTargets, contractTypesOf, type Targets } from "./targets.ts";

/** `sync --dry-run`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
export async function planCommand(
  given: Config,
  io: Io,
  options: {
    readonly json: boolean;
    readonly targets?: Targets;
    /** Default the contract types of the configuration. */
    readonly contractTypes?: readonly ContractProductType[];
  },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(given.database, (message) => tell(io, message));
  await using access = openExchangeAccess();
  const now = await exchangeTime(given, access, io.signal);
  const isNew = !(await hasSchema(database.db));
  const {
    config: wanted,
    notices,
    unreachable,
  } = isNew
    ? { config: given, notices: [], unreachable: [] }
    : await reachableToRead(database.db, given);
  const names = wanted.accounts.map(({ name }) => name);
  const states = isNew ? noStates : await readAccountStates(database.db, names);
  const accounts = wanted.accounts.map((account) => ({
    ...account,
    productTypes: readableTypes(account, states.of(account.name)),
  }));
  const config = { ...wanted, accounts };
  for (const line of [...notices, ...refusals(wanted, states), ...unmet(wanted, states)]) {
    tell(io, line);
  }
  const streams = config.accounts.flatMap(({ name, productTypes }) =>
    productTypes.map((productType) => ({ account: name, productType })),
  );
  const times = isNew ? { of: () => nothingKnown } : await readKnownTimes(database.db, streams);
  const { settleLagMs } = config;
  const plans = streams.map((stream) => planStream(stream, times.of(stream), { now, settleLagMs }));
  const { targets = allTargets, contractTypes = contractTypesOf(given) } = options;
  const records = recordRequests(config, targets, contractTypes);
  const { data, parts } = planResult(plans, records);
  return answer(io, options.json, {
    data: { exchangeTime: jsonTime(now), ...data, ...unreachableJson(unreachable) },
    parts: [...parts, ...unreachableLines(unreachable)],
    exit: unreachable.length === 0 ? 0 : 1,
  });
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
function unmet({ accounts }: Config, states: AccountStates): readonly string[] {
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

/** The number of requests for symbols, contracts and loan-to-value. */
export type RecordRequests = {
  readonly symbols: number;
  readonly contracts: number;
  /** By account. */
  readonly loanToValue: ReadonlyMap<string, number>;
};

const recordRequests = (
  { accounts }: Config,
  targets: Targets,
  contractTypes: readonly ContractProductType[],
): RecordRequests => ({
  symbols: targets.has("symbols") ? 1 : 0,
  contracts: targets.has("contracts") ? contractTypes.length : 0,
  loanToValue: new Map(
    accounts
      .filter(({ ltv = false }) => ltv)
      .map(({ name, riskUnitIds = [] }) => [name, riskUnitsOf(riskUnitIds).length]),
  ),
});

const noRecords: RecordRequests = { symbols: 0, contracts: 0, loanToValue: new Map() };

export type PlanCost = {
  readonly windows: number;
  /** Includes the requests for symbols, contracts and loan-to-value. */
  readonly requestsMin: number;
  readonly durationMs: number;
};

// An empty window takes two requests, which ask in two ways.
const requestsPerWindow = 2;

/**
 * The least that a plan takes: two requests for each window, as if it were empty, one probe for
 * each account, and the loan-to-value requests before. Accounts are synced side by side, each under
 * its own limits and the address's limit.
 */
export function planCost(
  plans: readonly StreamPlan[],
  records: RecordRequests = noRecords,
): PlanCost {
  const byAccount = Map.groupBy(plans, ({ stream }) => stream.account);
  const accounts = new Set([...byAccount.keys(), ...records.loanToValue.keys()]);
  const costs = [...accounts].map((account) => {
    const own = byAccount.get(account) ?? [];
    const ltv = records.loanToValue.get(account) ?? 0;
    const isUnifiedAccount = own.some(({ stream }) => isUnified(stream.productType));
    return [
      ...billsCosts(own),
      { operation: isUnifiedAccount ? unifiedLoanToValue : loanToValue, requests: ltv },
    ];
  });
  const durations = costs.map((own) =>
    own.reduce((sum, { operation, requests }) => sum + paceMs(operation, requests), 0),
  );
  const requestsMin = costs
    .flat()
    .reduce((sum, { requests }) => sum + requests, records.symbols + records.contracts);
  return {
    windows: windowsOf(plans),
    requestsMin,
    durationMs: Math.max(
      paceMs(symbols, records.symbols),
      paceMs(contracts, records.contracts),
      ...durations,
      (requestsMin * addressLimit.perMs) / addressLimit.requests,
    ),
  };
}

type Cost = { readonly operation: Operation; readonly requests: number };

/** The least requests for an account's bills, by the operation that serves them. */
function billsCosts(plans: readonly StreamPlan[]): readonly Cost[] {
  const operationOf = ({ stream }: StreamPlan) => billsApiOf(stream.productType).operation;
  return [...Map.groupBy(plans, operationOf)].map(([operation, own]) => ({
    operation,
    requests: 1 + requestsPerWindow * windowsOf(own),
  }));
}

/** How long this many requests take at an operation's limit. */
const paceMs = ({ limit }: Operation, requests: number): number =>
  (requests * limit.perMs) / limit.requests;

const windowsOf = (plans: readonly StreamPlan[]): number =>
  plans.reduce((sum, { walks }) => sum + walks.length, 0);

/** What a sync would read, and the least that it takes. */
export function planResult(
  plans: readonly StreamPlan[],
  records: RecordRequests = noRecords,
): Pick<Result, "data" | "parts"> {
  const cost = planCost(plans, records);
  const { windows, requestsMin, durationMs } = cost;
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
    data: {
      ...cost,
      symbols: { requests: records.symbols },
      contracts: { requests: records.contracts },
      loanToValue: { requests: sumOf(records.loanToValue) },
    },
    parts: [
      table("streams", columns, plans),
      ...plans.flatMap(({ stream, lost }) =>
        lost.map((time) => `${streamName(stream)}: lost ${formatInterval(time)}`),
      ),
      ...recordsLine(records),
      `${formatCounted(windows, "window")}, ${formatCounted(requestsMin, "request")} at least, ` +
        `${formatDuration(durationMs)} at the exchange's limits`,
      ...(windows === 0 ? [] : [`plus a request for every page of up to ${pageSizeMax} bills`]),
    ],
  };
}

function recordsLine(records: RecordRequests): readonly string[] {
  const ltv = sumOf(records.loanToValue);
  const parts = [
    ...(records.symbols === 0 ? [] : [`${formatCounted(records.symbols, "request")} for symbols`]),
    ...(records.contracts === 0
      ? []
      : [`${formatCounted(records.contracts, "request")} for contracts`]),
    ...(ltv === 0 ? [] : [`${formatCounted(ltv, "request")} for loan-to-value`]),
  ];
  return parts.length === 0 ? [] : [parts.join(", ")];
}

const sumOf = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);
