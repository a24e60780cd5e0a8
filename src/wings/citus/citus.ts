import { setTimeout as delay } from "node:timers/promises";
import { getTableName, sql } from "drizzle-orm";
import {
  type Database,
  executeAtOnce,
  inTransaction,
  type Queryable,
} from "../../core/postgres/connect.ts";
import { withDatabaseErrors } from "../../core/postgres/database-errors.ts";
import { tables } from "../../core/postgres/schema/tables.ts";
import { isOneOf, onlyRow, textArray } from "../../core/postgres/values.ts";
import { DatabaseError, messageOf } from "../../lib/errors.ts";
import { hourMs, secondMs } from "../../lib/time.ts";

/**
 * Where a table's rows are once the database is distributed: on their account's node, copied to every
 * node, or on the coordinator alone.
 */
export type Placement = "account" | "everywhere" | "coordinator";

type TableName = keyof typeof tables;

/** The tables whose rows are not on their account's node. */
const elsewhere: { readonly [name in TableName]?: Placement } = {
  // Joined to the bills of every account.
  businessTypes: "everywhere",
  // A process renews the leases of all its accounts in one statement, which no hanging node may hold up.
  leases: "coordinator",
  // Their unique keys span accounts: they keep one API key and one user from two of them.
  ...{ accountKeys: "coordinator", accountUsers: "coordinator", keySalt: "coordinator" },
  // Read as a whole.
  // Belong to no account.
  ...{ runs: "coordinator", analyticsViews: "coordinator", instrumentLists: "coordinator" },
  ...{ spotPairs: "coordinator", spotPairVersions: "coordinator" },
  ...{ contracts: "coordinator", contractVersions: "coordinator" },
};

export const placements = Object.fromEntries(
  Object.keys(tables).map((name) => [name, elsewhere[name as TableName] ?? "account"]),
) as Readonly<Record<TableName, Placement>>;

/** The tables whose rows are on their account's node. */
export const distributedTables: ReadonlySet<object> = new Set(
  Object.entries(tables).flatMap(([name, table]) =>
    placements[name as TableName] === "account" ? [table] : [],
  ),
);

/** What is to be done about one table: no statements where it is distributed as it should be. */
export type Step = {
  readonly table: string;
  readonly placement: Placement;
  readonly statements: readonly string[];
};

/** Distributed first. All other tables are colocated with it, so that one node has all rows of an account. */
const first = "bills";

const placed = Object.entries(tables).map(([name, table]) => ({
  table: getTableName(table),
  placement: placements[name as TableName],
}));

const order: readonly Placement[] = ["everywhere", "account", "coordinator"];
const placeOf = ({ table, placement }: (typeof placed)[number]): number =>
  order.indexOf(placement) - (table === first ? 0.5 : 0);

/**
 * The steps that distribute a database, in their order, one a table. A step that is done already has
 * no statements.
 */
export function distributionSteps(known: readonly DistributedTable[]): readonly Step[] {
  return placed
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .map(({ table, placement }) => {
      const beside = table === first ? "none" : `public.${first}`;
      const create = {
        account: [
          `select create_distributed_table('public.${table}', 'account', colocate_with => '${beside}')`,
        ],
        everywhere: [`select create_reference_table('public.${table}')`],
        coordinator: [],
      }[placement];
      const there = known.find(({ name }) => name === table);
      const isDone = placement === "coordinator" || there?.isEmptied === true;
      const statements = isDone ? [] : [...(there === undefined ? create : []), emptied(table)];
      return { table, placement, statements };
    });
}

/** Removes the coordinator's copy of the rows that were distributed, which no statement can see. */
const emptied = (table: string): string =>
  `select truncate_local_data_after_distributing_table('public.${table}')`;

/** A table as the extension knows it. */
export type DistributedTable = {
  readonly name: string;
  /** Whether the coordinator's copy of the rows is gone. */
  readonly isEmptied: boolean;
};

/** How the extension has distributed the tables; undefined where the database lacks the extension. */
export function readDistribution(db: Queryable): Promise<readonly DistributedTable[] | undefined> {
  return withDatabaseErrors(async () => {
    const { rows: extensions } = await db.execute(
      sql`select 1 from pg_extension where extname = 'citus'`,
    );
    if (extensions.length === 0) return undefined;
    const { rows } = await db.execute<DistributedTable>(sql`
      select
        relname as name,
        pg_relation_size(logicalrelid) = 0 as "isEmptied"
      from pg_dist_partition
      join pg_class on pg_class.oid = logicalrelid
      where relnamespace = 'public'::regnamespace`);
    return rows;
  });
}

/** @throws DatabaseError with the remedy, where the database cannot be distributed. */
export const extensionMissing = (): DatabaseError =>
  new DatabaseError(
    "the database does not have the extension citus, which distributes it: install Citus on the " +
      "server, name it in shared_preload_libraries, restart the server, run create extension citus " +
      "in this database as a superuser, and add the nodes by citus_add_node; see " +
      "docs/many-accounts.md",
  );

// A statement may send millions of rows to other nodes.
const statementMaxMs = 12 * hourMs;

/** Does a step. Each statement is atomic, and a later run leaves out those that are done. */
export function takeStep(db: Database, { statements }: Step): Promise<void> {
  return withDatabaseErrors(async () => {
    for (const statement of statements) {
      await inTransaction(db, (tx) => tx.execute(sql.raw(statement)), { statementMaxMs });
    }
  });
}

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

/**
 * Reads several accounts at once. Where that fails, or takes longer than some seconds, probes which
 * nodes cannot be read, and reads the others' accounts without them.
 * @param accountsOf is called only for probing: a role that may not read the names reads all accounts or none.
 * @param read is called with undefined for all accounts, and a second time with the reachable ones.
 * @throws what `read` throws, where all nodes are reachable; where none is, why not.
 */
export async function readReachable<T>(
  db: Database,
  accountsOf: () => Promise<readonly string[]>,
  read: (accounts: readonly string[] | undefined) => Promise<T>,
): Promise<{ readonly result: T; readonly unreachable: readonly Unreachable[] }> {
  const readSome = (accounts?: readonly string[]) => withDatabaseErrors(() => read(accounts));
  const whole = readSome().then((result) => ({ result, unreachable: [] }));
  const isAnswered = await Promise.race([
    whole.then(
      () => true,
      (error: unknown) => !(error instanceof DatabaseError),
    ),
    delay(patienceMs, false, { ref: false }),
  ]);
  if (isAnswered) return whole;
  // Where probing fails too, the first failure is the one to report.
  const nodes = await readNodes(db, accountsOf).catch(() => []);
  const probed = await Promise.all(
    nodes.map(async (node) => ({ ...node, error: await probe(db, node) })),
  );
  const unreachable = probed.flatMap(({ accounts, error }) =>
    error === undefined ? [] : accounts.map((account) => ({ account, error })),
  );
  const [first] = unreachable;
  if (first === undefined) return whole;
  const reachable = probed.flatMap(({ accounts, error }) => (error === undefined ? accounts : []));
  if (reachable.length === 0) throw first.error;
  return { result: await readSome(reachable), unreachable };
}

/** Whether the database is one that lays rows on nodes. */
export function hasNodes(db: Queryable): Promise<boolean> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ has_nodes: boolean }>(sql`
      select to_regclass('pg_dist_placement') is not null as has_nodes`);
    return onlyRow(rows, "whether there are nodes").has_nodes;
  });
}

/** A node, as "host:port", and the accounts whose rows it holds. */
type Node = { readonly node: string; readonly accounts: readonly string[] };

/** The nodes of a distributed database; none of another. */
async function readNodes(
  db: Queryable,
  accountsOf: () => Promise<readonly string[]>,
): Promise<readonly Node[]> {
  if (!(await hasNodes(db))) return [];
  const { rows } = await db.execute<Node>(sql`
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
      from unnest(${textArray(await accountsOf())}::text[]) as given (account)
      join pg_dist_placement
        on shardid = get_shard_id_for_distribution_column('public.ledgers', account)
      group by groupid
    ) as placed`);
  return rows;
}

/** Why the rows of these accounts cannot be read; undefined where they can. */
async function probe(db: Database, { node, accounts }: Node): Promise<DatabaseError | undefined> {
  try {
    const count = sql`select count(*) from ledgers where ${isOneOf(accounts)}`;
    await executeAtOnce(db, count, { statementMaxMs: probeMaxMs });
    return undefined;
  } catch (cause) {
    return new DatabaseError(
      `its rows cannot be read (${messageOf(cause).replaceAll(/\s+/g, " ")}): the database's node ${node} ` +
        "that holds them is down or hangs, or another session has them locked; the next run tries the " +
        "account again",
      { cause },
    );
  }
}
