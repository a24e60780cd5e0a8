import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import pg, { escapeIdentifier } from "pg";
import type { DatabaseConfig } from "../accounts/config.ts";
import { type Database, openDatabase } from "../core/postgres/connect.ts";
import type { StatementLimit } from "../core/postgres/connections.ts";
import { withDatabaseErrors } from "../core/postgres/database-errors.ts";
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
    await withDatabaseErrors(() => reach(db, opening.notify));
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

/** Tries to connect. Leaves no connection open: a role may be limited to one, and a migration opens its own. */
async function reach({ $client }: Database, notify: (message: string) => void): Promise<void> {
  const client = await $client.connect();
  try {
    await keepStrangersOut(client, notify);
  } finally {
    client.release(true);
  }
}

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

// The place of the answer among those of the statements of the question.
const answered = 3;
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
  commit`;

/** In one round trip. */
async function findStrangers(client: pg.ClientBase): Promise<readonly Stranger[]> {
  // The driver answers a text of several statements by a list, which its types do not know.
  const answers: unknown = await client.query<Stranger>(question);
  const answer: unknown = Array.isArray(answers) ? answers.at(answered) : undefined;
  if (answer instanceof pg.Result) return answer.rows;
  throw new Error("defect: the answer is not where it was");
}

/**
 * Ends everybody's right to create in schemas that are this user's.
 * @throws DatabaseError, with the remedy, where a stranger's code would run as this user, or could.
 */
export async function keepStrangersOut(
  client: pg.PoolClient,
  notify: (message: string) => void,
): Promise<void> {
  const strangers = await findStrangers(client);
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
