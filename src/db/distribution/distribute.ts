import { getTableName, sql } from "drizzle-orm";
import { hourMs } from "../../contract/time.ts";
import { DatabaseError } from "../../errors.ts";
import { type Database, inTransaction, type Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { tables } from "../schema/tables.ts";
import { type Placement, placements } from "./placement.ts";

/** What is done about one table; none where it lies where it belongs. */
export type Step = {
  readonly table: string;
  readonly placement: Placement;
  readonly statements: readonly string[];
};

/** The column by which rows are divided. */
const key = "account";
/** The first to be divided: all others lie beside it, so that one node has all that is of an account. */
const first = "bills";

const placed = Object.entries(placements).map(([name, placement]) => ({
  table: getTableName(tables[name as keyof typeof tables]),
  placement,
}));

const order: readonly Placement[] = ["everywhere", "account", "coordinator"];

/**
 * The steps that make a database distributed, in their order: every table has one. What is done already
 * has no statements.
 * @throws DatabaseError where a table is distributed otherwise.
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

/** The rows that the table had before lie there still, where no statement sees them. */
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
  /** Tables of one number lie beside each other. */
  readonly colocation: number;
  /** Whether the rows that it had before are no longer where they were. */
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
    `the table ${found.name} is distributed by ${found.key ?? "copies on every node"}, and belongs ` +
      `${wanted}; take that back by select undistribute_table('public.${found.name}'), and run ` +
      "bill-sync distribute again",
  );
}

/** What the extension knows of the tables; undefined where the database does not have it. */
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

// Millions of rows are sent to their nodes.
const statementMaxMs = 12 * hourMs;

/** Does a step: each statement is whole or not at all, and what is done is not done again. */
export function takeStep(db: Database, { statements }: Step): Promise<void> {
  return withDatabaseErrors(async () => {
    for (const statement of statements) {
      await inTransaction(db, (tx) => tx.execute(sql.raw(statement)), { statementMaxMs });
    }
  });
}
