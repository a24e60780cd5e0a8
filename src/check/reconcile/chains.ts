import { eq, getTableColumns, sql } from "drizzle-orm";
import { bookedMaxMsOf, walletOf } from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import {
  reconciledChains,
  type Unexplained,
} from "../../core/postgres/schema/reconciliation-schema.ts";
import {
  type IntervalsJson,
  intervalsFrom,
  intervalsOf,
  msOf,
  multirange,
  timeOf,
} from "../../core/postgres/values.ts";
import { walletColumn } from "../../core/views/wallet-moves.ts";
import { type Interval, subtract } from "../../core/words/intervals.ts";
import { shortText } from "../../lib/decimal.ts";
import { dayMs, minuteMs } from "../../lib/time.ts";
import type { Break } from "./breaks.ts";
import { type Chain, unexplainedOf } from "./check-chain.ts";
import { type Coverage, isDayRead } from "./coverage.ts";
import { compare } from "./rules.ts";

/** Names a chain of an account. */
type ChainName = {
  /** The wallet; "UTA" in a unified account. */
  readonly wallet: string;
  readonly coin: string;
};

export const chainKey = ({ wallet, coin }: ChainName): string => JSON.stringify([wallet, coin]);

/** A chain, and where its check begins. */
export type ChainStart = ChainName & {
  /** Milliseconds since the epoch; -Infinity for all of its bills. */
  readonly since: number;
};

/** A chain as the last check left it. */
export type ChainRecord = ChainName & {
  /** Bills stored before this time of the database's clock were checked; undefined where all must be again. */
  readonly checkedBefore: number | undefined;
  readonly checkpoint: number | undefined;
  readonly isUnjudged: boolean;
  /** The time of its wallet that was read. */
  readonly covered: readonly Interval[];
  /** Of the last whole check. */
  readonly tested: number;
  readonly rounded: number;
  readonly unexplained: readonly Unexplained[];
};

export async function readChainRecords(
  tx: Transaction,
  account: string,
): Promise<ReadonlyMap<string, ChainRecord>> {
  const { wallet, coin, checkpoint, unjudgedFrom, tested, rounded, unexplained } = reconciledChains;
  const rows = await tx
    .select({
      ...{ wallet, coin, checkpoint, unjudgedFrom, tested, rounded, unexplained },
      checkedBefore: sql<
        string | null
      >`case when isfinite(checked_before) then ${msOf(sql`checked_before`)} end`,
      covered: sql<IntervalsJson>`${intervalsOf(sql`covered`)}`,
    })
    .from(reconciledChains)
    .where(eq(reconciledChains.account, account));
  return new Map(
    rows.map(({ checkedBefore, checkpoint, unjudgedFrom, covered, ...chain }) => [
      chainKey(chain),
      {
        ...chain,
        checkedBefore: checkedBefore === null ? undefined : Number(checkedBefore),
        checkpoint: checkpoint?.getTime(),
        isUnjudged: unjudgedFrom !== null,
        covered: intervalsFrom(covered),
      },
    ]),
  );
}

// A transaction that was under way during the last check may have committed bills since, with times
// before that check. No transaction lasts longer than this.
const underWayMaxMs = 10 * minuteMs;

/**
 * Where to begin in each changed chain: at its checkpoint if all changes come later, else at its first bill. A chain has
 * changed if a bill of it was stored or restated since its last check, if a balance was not judged, or if earlier time
 * was read since.
 * @returns undefined if all bills must be checked: none ever were, or the mapping of a type has changed.
 */
export async function chooseChanged(
  tx: Transaction,
  account: string,
  records: ReadonlyMap<string, ChainRecord>,
  coverage: ReadonlyMap<string, Coverage>,
): Promise<readonly ChainStart[] | undefined> {
  const checkedBefore = [...records.values()].map((chain) => chain.checkedBefore ?? Number.NaN);
  const since = Math.min(...checkedBefore) - underWayMaxMs;
  if (!Number.isFinite(since)) return undefined;
  const stored = await readOldestStored(tx, account, since);
  const starts = [...new Set([...records.keys(), ...stored.keys()])].map((key) => {
    const chain = records.get(key);
    const { wallet, coin, oldest } = stored.get(key) ?? { ...chain, oldest: Number.NaN };
    if (wallet === undefined || coin === undefined) return [];
    const read = newlyRead(chain?.covered ?? [], coverage.get(wallet)?.read ?? []);
    const changes = [oldest, ...read.map(({ from }) => from)].filter(Number.isFinite);
    if (changes.length === 0 && !chain?.isUnjudged) return [];
    // Bills may change places with bills this much older, and those with still older ones.
    const lateMs = 2 * bookedMaxMsOf(wallet);
    const checkpoint = chain?.checkpoint ?? Number.POSITIVE_INFINITY;
    const isLater = checkpoint < Math.min(...changes) - lateMs;
    return [{ wallet, coin, since: isLater ? checkpoint : Number.NEGATIVE_INFINITY }];
  });
  return starts.flat();
}

/** Time that was read since a check, except after its end. A break beside it may be resolved, or become another one. */
function newlyRead(covered: readonly Interval[], read: readonly Interval[]): readonly Interval[] {
  const end = covered.at(-1)?.to ?? Number.POSITIVE_INFINITY;
  return subtract(read, covered).filter(({ from }) => from < end);
}

/** The chains of which bills were stored or restated since, and the time of the oldest of these. */
async function readOldestStored(tx: Transaction, account: string, since: number) {
  const { rows } = await tx.execute<{ wallet: string; coin: string; oldest: string }>(sql`
    select ${walletColumn("product_type")} as wallet, coin, ${msOf(sql`min(c_time)`)} as oldest
    from (
      select product_type, coin, c_time
      from bills
      where account = ${account}
        and ingested_at >= ${timeOf(since)}
      union all
      select product_type, coin, c_time
      from bill_revisions
      where account = ${account}
        and replaced_at >= ${timeOf(since)}
    ) as stored
    group by 1, 2`);
  return new Map(rows.map((row) => [chainKey(row), { ...row, oldest: Number(row.oldest) }]));
}

const chainColumns = getTableColumns(reconciledChains);
const writtenColumns = [
  ...["checkedBefore", "storedThrough", "unjudgedFrom", "checkpoint", "tested", "rounded"],
  ...["reconciledAt", "reconciledThrough", "covered", "unexplained"],
] as const;
const excluded = (name: keyof typeof chainColumns) =>
  sql`excluded.${sql.identifier(chainColumns[name].name)}`;

/**
 * Stores how far each chain was checked, so that the next check begins there, and when: also of those in which
 * nothing changed, since the next check looks for bills that were stored since the first of these times. The counts
 * are those of the last whole check: the ranges of partial checks overlap, so their counts cannot be added up.
 */
export async function writeChains(
  tx: Transaction,
  account: string,
  chains: readonly Chain[],
  {
    isFull,
    starts,
    records,
    coverage,
  }: {
    readonly isFull: boolean;
    /** Where the check began in each chain; undefined where all bills were checked. */
    readonly starts: readonly ChainStart[] | undefined;
    readonly records: ReadonlyMap<string, ChainRecord>;
    readonly coverage: ReadonlyMap<string, Coverage>;
  },
): Promise<void> {
  const checked = new Map(chains.map((chain) => [chainKey(chain), chain]));
  const sinceOf = new Map(starts?.map((start) => [chainKey(start), start.since]));
  const rows = [...new Set([...records.keys(), ...checked.keys()])].flatMap((key) => {
    const [before, chain] = [records.get(key), checked.get(key)];
    const { wallet, coin } = chain ?? before ?? {};
    if (wallet === undefined || coin === undefined) return [];
    const { reconciledThrough = Number.POSITIVE_INFINITY, read = [] } = coverage.get(wallet) ?? {};
    const counts = isFull ? (chain ?? before) : (before ?? chain);
    const since = starts === undefined ? Number.NEGATIVE_INFINITY : (sinceOf.get(key) ?? Infinity);
    return {
      account,
      wallet,
      coin,
      checkedBefore: sql`transaction_timestamp()`,
      storedThrough: sql`(
        select coalesce(max(stored_at), '-infinity')
        from ledgers
        where account = ${account}
          and ${walletColumn("product_type")} = ${wallet}
      )`,
      unjudgedFrom: dateOf(chain?.unjudgedFrom),
      checkpoint: dateOf(chain === undefined ? before?.checkpoint : chain.checkpoint),
      tested: counts?.tested ?? 0,
      rounded: counts?.rounded ?? 0,
      reconciledAt: sql`transaction_timestamp()`,
      reconciledThrough: dateOf(reconciledThrough),
      covered: multirange(read),
      unexplained: [
        ...(before?.unexplained ?? []).filter(({ at }) => Date.parse(at) <= since),
        ...(chain === undefined ? [] : unexplainedOf(chain)),
      ],
    };
  });
  if (rows.length === 0) return;
  const { account: accountColumn, wallet, coin } = reconciledChains;
  await tx
    .insert(reconciledChains)
    .values(rows)
    .onConflictDoUpdate({
      target: [accountColumn, wallet, coin],
      set: Object.fromEntries(writtenColumns.map((name) => [name, excluded(name)])),
    });
}

const dateOf = (ms: number | undefined): Date | null =>
  ms === undefined || !Number.isFinite(ms) ? null : new Date(ms);

/** The result of checking one chain: an account, a wallet and a coin. */
export type ChainSummary = {
  readonly account: string;
  /** "UTA" in a unified account. */
  readonly wallet: string;
  readonly coin: string;
  readonly bills: number;
  /** Bills whose balance could be computed. */
  readonly tested: number;
  /** How many balances are off by no more than one unit in the last place a bill; below, the sum of these differences. */
  readonly rounded: number;
  readonly rounding: string;
  /** UTC days with bills: reconciled, not completely read, with an open break. */
  readonly days: {
    readonly reconciled: number;
    readonly incomplete: number;
    readonly broken: number;
  };
};

const inNames = (a: ChainName, b: ChainName): number =>
  compare(a.wallet, b.wallet) || compare(a.coin, b.coin);

/** What a check found in its chains, in the order of their names. */
export function summariesOf(
  account: string,
  chains: readonly Chain[],
  {
    coverage,
    breaks,
  }: {
    readonly coverage: ReadonlyMap<string, Coverage>;
    readonly breaks: readonly Break[];
  },
): readonly ChainSummary[] {
  const dayKey = (chain: ChainName, day: number) => `${day} ${chainKey(chain)}`;
  const broken = new Set(
    breaks.flatMap(({ ledger, coin, happenedAt }) => {
      const wallet = walletOf(ledger);
      const day = happenedAt === null ? undefined : Math.floor(Date.parse(happenedAt) / dayMs);
      return day === undefined ? [] : [dayKey({ wallet, coin }, day)];
    }),
  );
  return chains.toSorted(inNames).map((chain) => {
    const { wallet, coin, bills, tested, rounded } = chain;
    const read = coverage.get(wallet)?.read ?? [];
    const whole = [...chain.days].filter((day) => !broken.has(dayKey(chain, day)));
    const reconciled = whole.filter((day) => isDayRead(read, day)).length;
    const incomplete = whole.length - reconciled;
    return {
      ...{ account, wallet, coin, bills, tested, rounded },
      rounding: shortText({ units: chain.rounding, scale: chain.decimals }),
      days: { reconciled, incomplete, broken: chain.days.size - whole.length },
    };
  });
}
