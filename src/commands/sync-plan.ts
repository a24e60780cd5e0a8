import type { Account } from "../accounts/account.ts";
import type { Config } from "../accounts/config.ts";
import { accountsToRead, readableTypes, type Selection } from "../accounts/roster.ts";
import { pageSizeMax } from "../core/contract/account-bills.ts";
import { symbols } from "../core/contract/symbols.ts";
import { openExchange, openExchangeAccess } from "../core/exchange/session.ts";
import {
  type AccountStates,
  noStates,
  readAccountStates,
} from "../core/store/accounts/account-states.ts";
import { readKnownTimes } from "../core/store/known-time.ts";
import { nothingToRead } from "../core/sync/account-mode.ts";
import type { LedgerPlan } from "../core/words/ledger.ts";
import { planLedger } from "../core/words/plan.ts";
import type { EpochMs } from "../lib/time.ts";
import { type Columns, ledgerColumns, type Result, table } from "../output/result.ts";
import {
  formatCounted,
  formatInterval,
  jsonInterval,
  jsonTime,
  ledgerName,
} from "../output/text.ts";
import { type Io, note } from "./io.ts";
import { openStored } from "./stored.ts";
import { forTargets, type Targets } from "./sync-targets.ts";

/** `sync --dry-run`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
export async function planCommand(
  config: Config,
  io: Io,
  { selection, targets }: { readonly selection: Selection; readonly targets: Targets },
): Promise<Result> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  const now = await exchangeTime(config, io.signal);
  const { accounts: read, notSynced } = await accountsToRead(db, config, selection);
  const accounts = forTargets(read, targets);
  const names = accounts.map(({ name }) => name);
  const states = db ? await readAccountStates(db, names) : noStates;
  for (const line of [...notSynced, ...remarks(accounts, states)]) note(io, line);
  const ledgers = accounts.flatMap((account) =>
    readableTypes(account, states.of(account.name)).map((productType) => ({
      account: account.name,
      productType,
    })),
  );
  const times = db ? await readKnownTimes(db, ledgers) : { of: () => nothingKnown };
  const { settleLagMs } = config;
  const plans = ledgers.map((ledger) => planLedger(ledger, times.of(ledger), { now, settleLagMs }));
  const { data, parts } = planResult(plans);
  return { data: { exchangeTime: jsonTime(now), ...data }, parts, exit: 0 };
}

/** Every public answer carries the exchange's time, and the answer for one symbol is the smallest. */
async function exchangeTime(config: Config, signal: AbortSignal): Promise<EpochMs> {
  await using access = openExchangeAccess();
  const { client, exchangeNow } = openExchange(config, {}, access);
  await client.ask(symbols, { symbol: "BTCUSDT" }, { signal });
  return exchangeNow();
}

const nothingKnown = { coverage: [], lost: [], open: [] };

/** Warns of accounts without a configured product type for their mode, and of accounts whose mode is unknown. */
function remarks(accounts: readonly Account[], states: AccountStates): readonly string[] {
  const modeOf = ({ name }: Account) => states.of(name).mode?.name;
  const unknown = accounts.filter((account) => account.readsAll && modeOf(account) === undefined);
  return [
    ...accounts.flatMap((account) => {
      const mode = modeOf(account);
      return (mode && nothingToRead(account, mode)) ?? [];
    }),
    ...(unknown.length === 0
      ? []
      : [
          `planned as classic until their first sync: ${formatCounted(unknown.length, "account")}; a unified account, ` +
            "as the exchange makes them today, has other product types and fewer windows",
        ]),
  ];
}

// An empty window takes two requests, which ask in two ways.
const requestsPerWindow = 2;

/** What a sync would read of bills, and the least that it takes. */
export function planResult(plans: readonly LedgerPlan[]): Pick<Result, "data" | "parts"> {
  const windowsPlanned = plans.reduce((sum, { windows }) => sum + windows.length, 0);
  const requestsMin = requestsPerWindow * windowsPlanned;
  const spansOf = ({ windows }: LedgerPlan) => windows.map(({ window }) => window);
  const columns: Columns<LedgerPlan> = {
    ...ledgerColumns(plans, ({ ledger }) => ledger),
    count: {
      kind: "count",
      title: "windows",
      isForPeople: true,
      of: ({ windows }) => windows.length,
    },
    resumed: {
      kind: "count",
      isForPeople: true,
      of: ({ windows }) => windows.filter(({ cursor }) => cursor !== undefined).length,
    },
    time: { kind: "spans", isForPeople: true, of: spansOf },
    from: { kind: "time", isForPeople: true, of: (plan) => spansOf(plan)[0]?.from },
    windows: {
      kind: "value",
      of: ({ windows }) =>
        windows.map(({ window, cursor }) => ({
          ...jsonInterval(window),
          resumed: cursor !== undefined,
        })),
    },
    lost: { kind: "spans", title: "", of: ({ lost }) => lost },
  };
  return {
    data: { windowsPlanned, requestsMin },
    parts: [
      table("ledgers", columns, plans),
      ...plans.flatMap(({ ledger, lost }) =>
        lost.map((time) => `${ledgerName(ledger)}: lost ${formatInterval(time)}`),
      ),
      `${formatCounted(windowsPlanned, "window")}, ${formatCounted(requestsMin, "request")} at least` +
        (windowsPlanned === 0 ? "" : `, plus one for every page of up to ${pageSizeMax} bills`),
    ],
  };
}
