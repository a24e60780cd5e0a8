import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import pg, { escapeIdentifier } from "pg";
import { DatabaseError } from "../errors.ts";
import { onlyRow } from "./sql/only-row.ts";

/**
 * What roles other than this user, superusers and the owners of the database, of its schema public and of its
 * tables have in the schemas that names are looked up in. A function or an operator there runs as this
 * user wherever its types fit an expression better than Postgres's own do.
 */
type Strangers = {
  /** Schemas in which everybody may create, and the role that may end this. */
  readonly open: readonly {
    readonly schema: string;
    readonly owner: string;
    readonly isOurs: boolean;
  }[];
  readonly objects: readonly {
    readonly object: string;
    readonly owner: string;
    readonly runs: boolean;
  }[];
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
    select 'pg_proc'::regclass as class, oid, pronamespace as schema, proowner as owner, true as runs
    from pg_proc
    union all
    select 'pg_operator'::regclass, oid, oprnamespace, oprowner, true
    from pg_operator
    union all
    select 'pg_class'::regclass, oid, relnamespace, relowner, false
    from pg_class
    where relkind <> 'i'
    union all
    select 'pg_type'::regclass, oid, typnamespace, typowner, false
    from pg_type
    where typrelid = 0
      and typelem = 0
    union all
    select 'pg_trigger'::regclass, pg_trigger.oid, relnamespace, proowner, true
    from pg_trigger
    join pg_class on pg_class.oid = tgrelid
    join pg_proc on pg_proc.oid = tgfoid
    where relowner in (select oid from trusted)
  )
  select
    coalesce(
      (
        select json_agg(json_build_object(
          'schema', nspname,
          'owner', pg_get_userbyid(nspowner),
          'isOurs', pg_has_role(nspowner, 'usage')
        ))
        from schemas
        where exists (
          select
          from aclexplode(nspacl)
          where grantee = 0
            and privilege_type = 'CREATE'
        )
      ),
      '[]'
    ) as open,
    coalesce(
      (
        select json_agg(json_build_object(
          'object', pg_describe_object(class, made.oid, 0),
          'owner', pg_get_userbyid(made.owner),
          'runs', runs
        ))
        from made
        where schema in (select oid from schemas)
          and made.owner not in (select oid from trusted)
          and not exists (
            select
            from pg_depend
            where classid = class
              and objid = made.oid
              and deptype = 'e'
          )
      ),
      '[]'
    ) as objects;
  commit`;

/** In one round trip. */
export async function findStrangers(client: pg.ClientBase): Promise<Strangers> {
  // The driver answers a text of several statements by a list, which its types do not know.
  const answers: unknown = await client.query<Strangers>(question);
  const answer: unknown = Array.isArray(answers) ? answers.at(answered) : undefined;
  if (answer instanceof pg.Result) return onlyRow<Strangers>(answer.rows, "the strangers' objects");
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
  const { open, objects } = await findStrangers(client);
  for (const { schema, owner, isOurs } of open) {
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
  const running = objects.filter(({ runs }) => runs);
  const [first] = running;
  if (first === undefined) return;
  const others = running.length > 1 ? ` and ${running.length - 1} more` : "";
  throw new DatabaseError(
    `${first.object} of ${first.owner}${others} would run as this program's user: drop what other users made in schema public, or give bill-sync a database of its own`,
  );
}
