import { setTimeout as delay } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { secondMs } from "../../contract/time.ts";
import { DatabaseError, messageOf } from "../../errors.ts";
import { type Database, executeAtOnce, type Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { isOneOf } from "../sql/one-of.ts";
import { onlyRow } from "../sql/only-row.ts";

/** An account whose rows cannot be read: the node that holds them is down, or hangs. */
export type Unreachable = { readonly account: string; readonly error: DatabaseError };

/**
 * Reads several accounts at once, without those whose rows cannot be read.
 * @param read is called with undefined for all accounts, and perhaps again with the reachable ones.
 */
export type ReadReachable = <T>(
  read: (accounts: readonly string[] | undefined) => Promise<T>,
) => Promise<{ readonly result: T; readonly unreachable: readonly Unreachable[] }>;

// Reading the state of a hundred thousand accounts takes some seconds. After this long, nodes are probed.
const patienceMs = 3 * secondMs;
// A node that works counts the ledgers of its accounts in milliseconds.
const probeMaxMs = 3 * secondMs;
/** Without nodes, up to this many accounts are probed one by one. */
const aloneMax = 100;

/**
 * Reads several accounts at once. Where that fails, or takes longer than some seconds, probes which
 * accounts cannot be read, and reads the others without them.
 * @param accountsOf is called only for probing: a role that may not read the names reads all accounts or none.
 * @param read is called with undefined for all accounts, and a second time with the reachable ones.
 * @throws what `read` throws, where all accounts are reachable; where none is, that or why not.
 */
export async function readReachable<T>(
  db: Database,
  accountsOf: () => Promise<readonly string[]>,
  read: (accounts: readonly string[] | undefined) => Promise<T>,
): Promise<{ readonly result: T; readonly unreachable: readonly Unreachable[] }> {
  const over = new AbortController();
  const readSome = (accounts?: readonly string[]) => withDatabaseErrors(() => read(accounts));
  const whole = readSome().then((result) => ({ result, unreachable: [] }));
  const isLate = delay(patienceMs, true, { signal: over.signal }).catch(() => true);
  const mayBeNode = await Promise.race([whole.then(() => false, isOfDatabase), isLate]);
  over.abort();
  if (!mayBeNode) return whole;
  // Where probing fails too, the first failure is the one to report.
  const { accounts, unreachable } = await findUnreachable(db, accountsOf).catch(() => noneFound);
  // A database that is merely slow may have answered meanwhile.
  const answered = await Promise.race([whole, undefined]).catch(() => undefined);
  if (answered !== undefined) return answered;
  const [first] = unreachable;
  if (first === undefined) return whole;
  // Where the whole has failed by now, its error is the one to report.
  if (unreachable.length === accounts.length)
    return Promise.race([whole, Promise.reject(first.error)]);
  const silent = new Set(unreachable.map(({ account }) => account));
  const result = await readSome(accounts.filter((account) => !silent.has(account)));
  return { result, unreachable };
}

const isOfDatabase = (error: unknown): boolean => error instanceof DatabaseError;

type Found = {
  readonly accounts: readonly string[];
  readonly unreachable: readonly Unreachable[];
};

const noneFound: Found = { accounts: [], unreachable: [] };

async function findUnreachable(
  db: Database,
  accountsOf: () => Promise<readonly string[]>,
): Promise<Found> {
  const accounts = await accountsOf();
  const groups = (await readNodes(db, accounts)) ?? oneByOne(accounts);
  const found = await Promise.all(
    groups.map(async (group) => {
      const error = await probe(db, group);
      return error === undefined ? [] : group.accounts.map((account) => ({ account, error }));
    }),
  );
  return { accounts, unreachable: found.flat() };
}

/** Accounts that are probed together, and their node as "host:port"; null where it is not known. */
type Group = { readonly node: string | null; readonly accounts: readonly string[] };

const oneByOne = (accounts: readonly string[]): readonly Group[] =>
  accounts.length > aloneMax
    ? []
    : accounts.map((account) => ({ node: null, accounts: [account] }));

/** Whether the database is one that lays rows on nodes. */
export function hasNodes(db: Queryable): Promise<boolean> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ has_nodes: boolean }>(sql`
      select to_regclass('pg_dist_placement') is not null as has_nodes`);
    return onlyRow(rows, "whether there are nodes").has_nodes;
  });
}

/** The accounts of each node; undefined where the database is not distributed. */
async function readNodes(
  db: Queryable,
  accounts: readonly string[],
): Promise<readonly Group[] | undefined> {
  return withDatabaseErrors(async () => {
    if (!(await hasNodes(db))) return undefined;
    const { rows: nodes } = await db.execute<Group>(sql`
      select
        (
          select min(nodename || ':' || nodeport)
          from pg_dist_node
          where pg_dist_node.groupid = placed.groupid
            and noderole = 'primary'
        ) as node,
        accounts
      from (
        select groupid, array_agg(account) as accounts
        from unnest(${textArray(accounts)}::text[]) as given (account)
        join pg_dist_placement
          on shardid = get_shard_id_for_distribution_column('public.streams', account)
        group by groupid
      ) as placed`);
    return nodes;
  });
}

/** Why the rows of these accounts cannot be read; undefined where they can. */
async function probe(db: Database, { node, accounts }: Group): Promise<DatabaseError | undefined> {
  try {
    const count = sql`select count(*) from streams where ${isOneOf(accounts)}`;
    await executeAtOnce(db, count, { statementMaxMs: probeMaxMs });
    return undefined;
  } catch (cause) {
    return new DatabaseError(
      `its rows cannot be read (${messageOf(cause)}): the database's node ${node === null ? "" : `${node} `}` +
        "that holds them is down or hangs, or another session has them locked; the next run tries the " +
        "account again",
      { cause },
    );
  }
}
