import { isDemoProductType, walletOf } from "../../contract/product-types.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { readSyncedStreams } from "../../db/ledger/checkpoints.ts";
import { type ListedBreak, listBreaks } from "../../reconciliation/sign-off.ts";
import { type Reconciled, type ReconciledChain, readReconciled } from "../../reports/reconciled.ts";
import { readReportedWallets } from "../../reports/reported-wallets.ts";
import { isSyncAtWork } from "../../reports/runs.ts";
import { readStatus, type Status, type StreamStatus } from "../../reports/status.ts";
import { type Interval, lengthMs, union } from "../../sync/intervals.ts";
import type { Wallet } from "../selection.ts";
import { readWallets } from "../wallets.ts";
import type { Trust } from "./headline.ts";

/** What the page knows of all ledgers, at one moment. */
export type Facts = {
  readonly now: EpochMs;
  readonly status: Status;
  /** Of money, those that are read no more among them. */
  readonly streams: readonly StreamStatus[];
  readonly demoStreams: readonly StreamStatus[];
  readonly wallets: readonly Wallet[];
  readonly breaks: readonly ListedBreak[];
  readonly reconciled: Reconciled;
  /** Product types that a wallet's balance is of, and that were never read. */
  readonly neverRead: readonly { readonly account: string; readonly productType: string }[];
  readonly isSyncAtWork: boolean;
};

const everything = { accounts: undefined, productTypes: undefined };

/** @param settleLagMs the newest time that a run leaves unsettled, in ms. */
export async function readFacts(tx: Transaction, settleLagMs: number): Promise<Facts> {
  const stored = await readSyncedStreams(tx);
  const status = await readStatus(tx, stored, settleLagMs);
  const [streams, demoStreams] = divided(status.streams, ({ stream }) =>
    isDemoProductType(stream.productType),
  );
  const reported = await readReportedWallets(tx, stored, () => true);
  return {
    now: status.now,
    status,
    streams,
    demoStreams,
    wallets: await readWallets(tx),
    breaks: await listBreaks(tx, everything, { isAll: true }),
    reconciled: await readReconciled(tx),
    neverRead: reported.flatMap(({ account, unread, closedAt }) =>
      closedAt === undefined ? unread.map((productType) => ({ account, productType })) : [],
    ),
    isSyncAtWork: await isSyncAtWork(tx),
  };
}

const divided = <Item>(items: readonly Item[], isSecond: (item: Item) => boolean) =>
  [items.filter((item) => !isSecond(item)), items.filter(isSecond)] as const;

/** Time that runs set out to read and did not, of one ledger. What is stored of it is not proven. */
export const missingOf = ({ gaps, unproven, closedUnread }: StreamStatus): readonly Interval[] =>
  union([...gaps, ...unproven, ...closedUnread]);

/** What was lost of it. */
export const lostOf = ({ expired }: StreamStatus): readonly Interval[] => union(expired);

/** Whether runs still read it. */
export const isLive = ({ retiredAt, closedAt }: StreamStatus): boolean =>
  retiredAt === undefined && closedAt === undefined;

/** The open breaks of money; those of no product type are among them. */
export const openBreaksOf = ({ breaks }: Pick<Facts, "breaks">): readonly ListedBreak[] =>
  breaks.filter(({ state, productType }) => state === "open" && !isDemoProductType(productType));

/** The chains of money with bills, each as far as it was reconciled. */
export function chainsOf({
  wallets,
  reconciled,
}: Pick<Facts, "wallets" | "reconciled">): readonly ReconciledChain[] {
  const never = { at: undefined, through: undefined, tested: 0, billsSince: 0, isOutdated: true };
  return wallets
    .filter(({ product }) => !isDemoProductType(product))
    .map(({ account, product: wallet, coin }) => {
      const found = reconciled.chains.find(
        (one) => one.account === account && one.wallet === wallet && one.coin === coin,
      );
      return found ?? { account, wallet, coin, ...never };
    });
}

/** Whether a reconcile has looked at all that is stored of money. */
export function isReconciled(facts: Facts): boolean {
  const isLookedAt = ({ at, billsSince, isOutdated }: ReconciledChain) =>
    at !== undefined && billsSince === 0 && !isOutdated;
  const { lastRunAt, isAnyDayDirty } = facts.reconciled;
  return lastRunAt !== undefined && !isAnyDayDirty && chainsOf(facts).every(isLookedAt);
}

export function trustOf(facts: Facts): Trust {
  const { streams, demoStreams, neverRead, now, reconciled } = facts;
  const behind = streams.filter(isLive).map(({ unread }) => now - (unread[0]?.from ?? now));
  return {
    ledgers: streams.length,
    demoLedgers: demoStreams.length,
    isSyncAtWork: facts.isSyncAtWork,
    openBreaks:
      reconciled.lastRunAt === undefined && facts.breaks.length === 0
        ? undefined
        : openBreaksOf(facts).length,
    unreadBreaks: openBreaksOf(facts).filter(({ kind }) => kind === "unread").length,
    lostMs: lengthMs(union(streams.flatMap(lostOf))),
    missingMs: lengthMs(union(streams.flatMap(missingOf))),
    neverRead: neverRead.length,
    behindMs: Math.max(0, ...behind),
    rejectedRows: streams.reduce((sum, { rejected }) => sum + rejected, 0),
    isReconciled: isReconciled(facts),
  };
}

/** The earliest of times that are all known; undefined where one is not, or there is none. */
export function earliest(times: readonly (EpochMs | undefined)[]): EpochMs | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length < times.length || known.length === 0
    ? undefined
    : epochMs(Math.min(...known));
}

/** The wallet's name of a stream. */
export const walletNameOf = ({ stream }: StreamStatus): string => walletOf(stream.productType);
