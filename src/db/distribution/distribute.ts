import { getTableName, sql } from "drizzle-orm";
import { hourMs } from "../../contract/time.ts";
import { DatabaseError } from "../../errors.ts";
import { type Database, inTransaction, type Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { tables } from "../schema/tables.ts";
import { type Placement, placements } from "./placement.ts";

/** What is to be done about one table: no statements where it is distributed as it should be. */
export type Step = {
  readonly table: string;
  readonly placement: Placement;
  readonly statements: readonly string[];
};

/** The column by which rows are divided. */
const key = "account";
/** Distributed first. All other tables are colocated with it, so that one node has all rows of an account. */
const first = "bills";

const placed = Object.entries(placements).map(([name, placement]) => ({
  table: getTableName(tables[name as keyof typeof tables]),
  placement,
}));

const order: readonly Placement[] = ["everywhere", "account", "coordinator"];

/**
 * The steps that distribute a database, in their order, one a table. A step that is done already has
 * no statements.
 * @throws DatabaseError where a table is distributed in another way.
 */
export function distributionSteps(known: readonly DistributedTable[]): readonly Step[] {
  return placed
    .toSorted((a, b) => order.indexOf(a.placement) - order.indexOf(b.placement))
    .map(({ table, placement }) => {
      const found = known.find(({ name }) => name === table);
      if (found === undefined) {
        return { table, placement, statements: statementsFor(table, placement) };
      }
      refuseOther(found, placement, known);
      return { table, placement, statements: found.isEmptied ? [] : [emptied(table)] };
    });
}

/** Removes the coordinator's copy of the rows that were distributed, which no statement can see. */
const emptied = (table: string): string =>
  `select truncate_local_data_after_distributing_table('public.${table}')`;

function statementsFor(table: string, placement: Placement): readonly string[] {
  switch (placement) {
    case "account": {
      const beside = table === first ? "none" : `public.${first}`;
      return [
        `select create_distributed_table('public.${table}', '${key}', colocate_with => '${beside}')`,
        emptied(table),
      ];
    }
    case "everywhere":
      return [`select create_reference_table('public.${table}')`, emptied(table)];
    case "coordinator":
      return [];
    default:
      return placement satisfies never;
  }
}

/** A table as the extension knows it. */
export type DistributedTable = {
  readonly name: string;
  /** The column that its rows are divided by; null where each node has all of them. */
  readonly key: string | null;
  /** Tables with the same number are colocated. */
  readonly colocation: number;
  /** Whether the coordinator's copy of the rows is gone. */
  readonly isEmptied: boolean;
};

function refuseOther(
  found: DistributedTable,
  placement: Placement,
  known: readonly DistributedTable[],
): void {
  const beside = known.find(({ name }) => name === first);
  const isRight =
    placement === "account"
      ? found.key === key && found.colocation === beside?.colocation
      : found.key === null;
  if (isRight) return;
  const wanted =
    placement === "account"
      ? `by ${key}, beside ${first}`
      : "whole, on the coordinator or everywhere";
  throw new DatabaseError(
    `the table ${found.name} is distributed by ${found.key ?? "copies on every node"} and must be ` +
      `distributed ${wanted}; undo that by select undistribute_table('public.${found.name}'), and run ` +
      "bill-sync db distribute again",
  );
}

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
        case when partmethod = 'h' then column_to_column_name(logicalrelid, partkey) end as key,
        colocationid::int as colocation,
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
      "docs/distributed-rows.md",
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
