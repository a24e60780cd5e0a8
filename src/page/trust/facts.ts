import { isDemoProductType, type ProductType, walletOf } from "../../contract/product-types.ts";
import type { EpochMs } from "../../contract/time.ts";
import { type AccountStates, readAccountStates } from "../../db/accounts/account-states.ts";
import { readDemoAccounts } from "../../db/accounts/demo-accounts.ts";
import { readRetirements, retirementsBy } from "../../db/accounts/retirement.ts";
import type { Transaction } from "../../db/connect.ts";
import { readSyncedStreams } from "../../ledger/known-time.ts";
import { isSignedOff, type ListedBreak, listBreaks } from "../../reconciliation/sign-off.ts";
import { type Reconciled, type ReconciledChain, readReconciled } from "../../reports/reconciled.ts";
import { readReportedWallets } from "../../reports/reported-wallets.ts";
import { isSyncAtWork, readLastSync } from "../../reports/runs.ts";
import { readStatus, type Status, type StreamStatus } from "../../reports/status.ts";
import { type Interval, union } from "../../sync/intervals.ts";
import type { Stream } from "../../sync/store.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { type CoinName, readCoinNames } from "../wallets.ts";

/** What the page knows of all ledgers at one moment. */
export type Facts = {
  readonly now: EpochMs;
  readonly status: Status;
  /** Ledgers of real money, those that are no longer read included. */
  readonly streams: readonly StreamStatus[];
  readonly demoStreams: readonly StreamStatus[];
  /** The balance chains of real money that have bills, each with how far it was reconciled. */
  readonly chains: readonly ReconciledChain[];
  readonly demoChains: readonly ReconciledChain[];
  readonly breaks: readonly ListedBreak[];
  /** The accounts whose keys are for demo trading. Their product types have the names of real ones. */
  readonly demoAccounts: ReadonlySet<string>;
  readonly reconciled: Reconciled;
  readonly neverRead: readonly NeverRead[];
  readonly isSyncAtWork: boolean;
  /** Undefined if there was none. */
  readonly lastSync: Awaited<ReturnType<typeof readLastSync>>;
  /** Lines of `NAME=value` that the page's commands need; undefined if they need none. */
  readonly variables: string | undefined;
};

/**
 * An account's product types that no run has begun to read: configured ones, and ones that share a
 * wallet's balance with product types that were read.
 */
export type NeverRead = { readonly account: string; readonly productTypes: readonly ProductType[] };

/** What the page needs besides the tables. */
export type FactsDeps = {
  /** How much of the newest time a run leaves unsettled, in ms. */
  readonly settleLagMs: number;
  /** The configured ledgers that each account's key can read. Default none. */
  readonly configured?: (states: AccountStates) => readonly Stream[];
  /** Variables that the page's commands need to work here. Default none. */
  readonly variables?: string;
  /** Whether the rows are on several nodes. Default false. */
  readonly isDistributed?: boolean;
};

const everything = { accounts: undefined, productTypes: undefined };

export async function readFacts(
  tx: Transaction,
  { settleLagMs, configured = () => [], variables, isDistributed = false }: FactsDeps,
): Promise<Facts> {
  const stored = await readSyncedStreams(tx);
  const status = await readStatus(tx, stored, settleLagMs);
  const demoAccounts = await readDemoAccounts(tx);
  const [streams, demoStreams] = divided(status.streams, ({ stream }) =>
    isDemo({ demoAccounts }, stream),
  );
  const reconciled = await readReconciled(tx, { isDistributed });
  const names = await readCoinNames(tx, { isDistributed });
  const [chains, demoChains] = divided(chainsOf(names, reconciled), (chain) =>
    isDemo({ demoAccounts }, { account: chain.account, productType: chain.wallet }),
  );
  return {
    now: status.now,
    status,
    streams,
    demoStreams,
    chains,
    demoChains,
    breaks: await listBreaks(tx, everything, { isAll: true }),
    demoAccounts,
    reconciled,
    neverRead: (await readNeverRead(tx, stored, configured(await readAccountStates(tx)))).filter(
      ({ account }) => !demoAccounts.has(account),
    ),
    isSyncAtWork: await isSyncAtWork(tx),
    lastSync: await readLastSync(tx),
    variables,
  };
}

/** Whether something is of demo trading, which is not money. */
export const isDemo = (
  { demoAccounts }: Pick<Facts, "demoAccounts">,
  { account, productType }: { readonly account: string; readonly productType: string },
): boolean => isDemoProductType(productType) || demoAccounts.has(account);

const divided = <Item>(items: readonly Item[], isSecond: (item: Item) => boolean) =>
  [items.filter((item) => !isSecond(item)), items.filter(isSecond)] as const;

async function readNeverRead(
  tx: Transaction,
  stored: readonly Stream[],
  configured: readonly Stream[],
): Promise<readonly NeverRead[]> {
  const known = new Set(stored.map(streamName));
  const retiredAtOf = retirementsBy(await readRetirements(tx));
  const isExpected = (stream: Stream) =>
    !known.has(streamName(stream)) &&
    !isDemoProductType(stream.productType) &&
    retiredAtOf(stream) === undefined;
  const parts = (await readReportedWallets(tx, stored, () => true)).flatMap(
    ({ account, unread, closedAt }) =>
      closedAt === undefined ? unread.map((productType) => ({ account, productType })) : [],
  );
  const missing = [...parts, ...configured.filter(isExpected)];
  return [...Map.groupBy(missing, ({ account }) => account)].map(([account, own]) => ({
    account,
    productTypes: [...new Set(own.map(({ productType }) => productType))],
  }));
}

/**
 * A ledger's time that runs set out to read and did not. What is stored of it is not proven
 * complete.
 */
export const missingOf = ({ gaps, unproven, closedUnread }: StreamStatus): readonly Interval[] =>
  union([...gaps, ...unproven, ...closedUnread]);

/** The missing time that a sync can still read: none of an account that changed to the other kind. */
export const readableOf = (stream: StreamStatus): readonly Interval[] =>
  stream.closedAt === undefined ? missingOf(stream) : [];

/** How long a ledger has not been read, in ms. */
export const behindMsOf = ({ unread }: StreamStatus, now: EpochMs): number =>
  now - (unread[0]?.from ?? now);

/** A ledger's time that is lost. */
export const lostOf = ({ lost }: StreamStatus): readonly Interval[] => union(lost);

/** Whether runs still read the ledger. */
export const isLive = ({ retiredAt, closedAt }: StreamStatus): boolean =>
  retiredAt === undefined && closedAt === undefined;

type Breaks = Pick<Facts, "breaks" | "demoAccounts">;

/** The open breaks of real money, breaks without a product type included. */
export const openBreaksOf = (facts: Breaks): readonly ListedBreak[] =>
  facts.breaks.filter((entry) => entry.state === "open" && !isDemo(facts, entry));

/** The open breaks of demo trading. */
export const demoBreaksOf = (facts: Breaks): readonly ListedBreak[] =>
  facts.breaks.filter((entry) => entry.state === "open" && isDemo(facts, entry));

/** The breaks of real money that are signed off and of which something still does not add up. */
export const signedOffOf = (facts: Breaks): readonly ListedBreak[] =>
  facts.breaks.filter((entry) => isSignedOff(entry) && !isDemo(facts, entry));

/**
 * Whether a break only says that bills were restated or rejected, which somebody should look at: the
 * ledger may add up all the same.
 */
export const isNotice = ({ kind }: Pick<ListedBreak, "kind">): boolean =>
  kind === "restatement" || kind === "quarantine";

function chainsOf(names: readonly CoinName[], { chains }: Reconciled): readonly ReconciledChain[] {
  const keyOf = (...names: readonly string[]) => JSON.stringify(names);
  const known = new Map(
    chains.map((chain) => [keyOf(chain.account, chain.wallet, chain.coin), chain]),
  );
  const never = { at: undefined, through: undefined, tested: 0, billsSince: 0, isOutdated: true };
  return names.map(
    ({ account, product: wallet, coin }) =>
      known.get(keyOf(account, wallet, coin)) ?? { account, wallet, coin, ...never },
  );
}

/** The balance chain of a wallet's coin; undefined if it has no bill. */
export const chainOf = (
  { chains, demoChains }: Pick<Facts, "chains" | "demoChains">,
  { account, product, coin }: CoinName,
): ReconciledChain | undefined =>
  [...chains, ...demoChains].find(
    (each) => each.account === account && each.wallet === product && each.coin === coin,
  );

/** How far reconcile has checked a wallet's coin; undefined if it never did. */
export function checkedChain(facts: Facts, name: CoinName): ReconciledChain | undefined {
  const { lastRunAt, isAnyDayDirty } = facts.reconciled;
  const chain = chainOf(facts, name);
  return chain?.at === undefined || lastRunAt === undefined
    ? undefined
    : { ...chain, isOutdated: chain.isOutdated || isAnyDayDirty };
}

/** Since when all that is stored of real money is checked; undefined if some of it never was. */
export const checkedAt = ({ chains, reconciled }: Facts): EpochMs | undefined =>
  chains.length === 0 || reconciled.lastRunAt === undefined
    ? reconciled.lastRunAt
    : earliest(chains.map(({ at }) => at));

/** Whether reconcile has checked all that is stored of real money. */
export function isReconciled(facts: Facts): boolean {
  const isLookedAt = ({ at, billsSince, isOutdated }: ReconciledChain) =>
    at !== undefined && billsSince === 0 && !isOutdated;
  const { lastRunAt, isAnyDayDirty } = facts.reconciled;
  return lastRunAt !== undefined && !isAnyDayDirty && facts.chains.every(isLookedAt);
}

/** The earliest time; undefined if any time is unknown, or if there is none. */
export function earliest(times: readonly (EpochMs | undefined)[]): EpochMs | undefined {
  const known = times.filter((time) => time !== undefined);
  const [first] = known;
  return first === undefined || known.length < times.length
    ? undefined
    : known.reduce((least, each) => (each < least ? each : least), first);
}

/** The name of a stream's wallet. */
export const walletNameOf = ({ stream }: StreamStatus): string => walletOf(stream.productType);
