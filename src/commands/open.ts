import { getTableName, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import pg, { escapeIdentifier } from "pg";
import type { DatabaseConfig } from "../accounts/config.ts";
import { type Database, openDatabase } from "../core/postgres/connect.ts";
import { type StatementLimit, withConnection } from "../core/postgres/connections.ts";
import { tables } from "../core/postgres/schema/tables.ts";
import { DatabaseError, UsageError } from "../lib/errors.ts";
import { Secret } from "../lib/secret.ts";
import type { Wings } from "./io.ts";

/** A command's database: the configured one, or the embedded one. */
export type CommandDatabase = AsyncDisposable & {
  readonly db: Database;
  readonly url: Secret;
  /** The same for sessions that write only if they say so. A configured server's is `url`: its user decides. */
  readonly readOnlyUrl: Secret;
};

type Opening = {
  readonly notify: (message: string) => void;
  readonly wings: Pick<Wings, "embedded">;
};

/**
 * Opens the configured database, or starts the embedded one where none is configured.
 * @throws DatabaseError with the remedy; UsageError where none is configured and there is no embedded one.
 */
export async function openCommandDatabase(
  where: DatabaseConfig,
  opening: Opening,
  limit: StatementLimit = {},
): Promise<CommandDatabase> {
  const stack = new AsyncDisposableStack();
  try {
    const { url, readOnlyUrl } =
      "url" in where
        ? { ...where, readOnlyUrl: where.url }
        : stack.use(await startEmbedded(where.dataDir, opening));
    const { db } = stack.use(openDatabase(url.reveal(), limit));
    await reach(db, opening.notify);
    return { ...{ db, url, readOnlyUrl }, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function startEmbedded(dataDir: string, { notify, wings }: Opening) {
  const wing = await wings.embedded?.();
  if (wing === undefined)
    throw new UsageError("DATABASE_URL is not set, and this program has no embedded Postgres");
  const server = await wing.openEmbedded({ dataDir, notify });
  return {
    url: new Secret(server.url),
    readOnlyUrl: new Secret(server.readOnlyUrl),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tries to connect. */
const reach = ({ $client }: Database, notify: (message: string) => void): Promise<void> =>
  withConnection($client.connect(), {}, (client) => keepStrangersOut(client, notify));

/**
 * What lets other roles than this user, superusers and the owners of the database, of its schema public and of
 * its tables run code as this user. A function or an operator in the schemas that names are looked up in runs
 * wherever its types fit an expression better than Postgres's own do.
 */
type Stranger = {
  /** A schema in which everybody may create; else a function, an operator or a trigger. */
  readonly schema: string | null;
  readonly object: string;
  /** Who may end it. */
  readonly owner: string;
  readonly isOurs: boolean;
};

/** A table of the program of which this user sees some rows only. */
type Filtered = { readonly table: string; readonly policies: readonly string[] };

// The places of the answers among those of the statements of the question.
const [strangersAt, filteredAt] = [3, 4];
const ownTables = Object.values(tables).map((table) => `'${getTableName(table)}'`);
// As one message, in one transaction that looks names up in pg_catalog alone: this statement, too,
// would run a stranger's operators.
const question = `
  begin;
  select pg_catalog.set_config(
    'bill_sync.schemas', pg_catalog.current_schemas(false)::pg_catalog.text, true
  );
  set local search_path = pg_catalog;
  with schemas as materialized (
    select oid, nspname, nspowner, nspacl
    from pg_namespace
    where nspname = any(current_setting('bill_sync.schemas')::name[])
  ),
  trusted as materialized (
    select oid
    from pg_roles
    where rolsuper
      or rolname in (current_user, 'pg_database_owner')
      or oid in (select datdba from pg_database where datname = current_database())
      or oid in (select nspowner from pg_namespace where nspname = 'public')
      or oid = (select relowner from pg_class where oid = to_regclass('public.bills'))
  ),
  made as (
    select 'pg_proc'::regclass as class, oid, pronamespace as schema, proowner as owner
    from pg_proc
    union all
    select 'pg_operator'::regclass, oid, oprnamespace, oprowner
    from pg_operator
    union all
    select 'pg_trigger'::regclass, pg_trigger.oid, relnamespace, proowner
    from pg_trigger
    join pg_class on pg_class.oid = tgrelid
    join pg_proc on pg_proc.oid = tgfoid
    where relowner in (select oid from trusted)
  )
  select
    nspname as schema,
    'schema' as object,
    pg_get_userbyid(nspowner) as owner,
    pg_has_role(nspowner, 'usage') as "isOurs"
  from schemas
  where exists (
    select
    from aclexplode(nspacl)
    where grantee = 0
      and privilege_type = 'CREATE'
  )
  union all
  select null, pg_describe_object(class, made.oid, 0), pg_get_userbyid(made.owner), false
  from made
  where schema in (select oid from schemas)
    and made.owner not in (select oid from trusted)
    and not exists (
      select
      from pg_depend
      where classid = class
        and objid = made.oid
        and deptype = 'e'
    );
  select
    relname::text as table,
    array(
      select polname::text
      from pg_policy
      where polrelid = pg_class.oid
      order by polname
    ) as policies
  from pg_class
  join pg_namespace on pg_namespace.oid = relnamespace
  where nspname = 'public'
    and relname in (${ownTables.join(", ")})
    and row_security_active(pg_class.oid)
  order by relname <> 'bills', relname;
  commit`;

/** In one round trip. */
async function askServer(client: pg.ClientBase) {
  // The driver answers a text of several statements by a list, which its types do not know.
  const answers: unknown = await client.query(question);
  const rowsOf = <Row>(at: number): readonly Row[] => {
    const answer: unknown = Array.isArray(answers) ? answers.at(at) : undefined;
    if (answer instanceof pg.Result) return answer.rows;
    throw new Error("defect: the answer is not where it was");
  };
  return {
    strangers: rowsOf<Stranger>(strangersAt),
    filtered: rowsOf<Filtered>(filteredAt),
  };
}

/**
 * Refuses a user from whom row-level security hides rows: the server would leave them out in silence.
 * @throws DatabaseError with the remedy.
 */
function refuseFiltered([first, ...others]: readonly Filtered[]): void {
  if (first === undefined) return;
  const { table, policies } = first;
  const by = policies.length === 0 ? "it has no policy" : `policy ${policies.join(", ")}`;
  const more = others.length === 0 ? "" : ` and of ${others.map((one) => one.table).join(", ")}`;
  throw new DatabaseError(
    `row-level security hides rows of table ${table} (${by})${more} from this program's user, who must see all: as the owner, run alter table ${table} disable row level security, or alter role NAME bypassrls as a superuser`,
  );
}

/**
 * Ends everybody's right to create in schemas that are this user's.
 * @throws DatabaseError, with the remedy, where a stranger's code would run as this user, or could, or where rows
 *   are hidden from this user.
 */
async function keepStrangersOut(
  client: pg.PoolClient,
  notify: (message: string) => void,
): Promise<void> {
  const { strangers, filtered } = await askServer(client);
  refuseFiltered(filtered);
  for (const { schema, owner, isOurs } of strangers) {
    if (schema === null) continue;
    const statement = `revoke create on schema ${escapeIdentifier(schema)} from public`;
    if (!isOurs) {
      throw new DatabaseError(
        `every user of the database may create functions and operators in schema ${schema}, which would run as this program's user: as ${owner === "pg_database_owner" ? "the owner of the database" : owner}, run ${statement}`,
      );
    }
    await drizzle(client).execute(
      sql`revoke create on schema ${sql.identifier(schema)} from public`,
    );
    notify(
      `users of the database may no longer create in schema ${schema}, where functions and operators of theirs would run as this program's user (${statement})`,
    );
  }
  const [first, ...others] = strangers.filter(({ schema }) => schema === null);
  if (first === undefined) return;
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  throw new DatabaseError(
    `${first.object} of ${first.owner}${more} would run as this program's user: drop what other users made in schema public, or give bill-sync a database of its own`,
  );
}
