import type pg from "pg";
import { dayTables } from "../../src/db/days/day-views.ts";
import type { WalletDay } from "../../src/db/days/refresh-days.ts";
import type { Statements } from "./database.ts";

/**
 * Whether the transaction, which is about to commit, wrote bills of days that are not marked: for
 * these it must be checked that the stored days agree with their bills. For a replaced bill, both
 * contents count.
 */
export async function isDayUnmarked(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ is_unmarked: boolean }>(`
    select exists (
      select account, product_type, c_time
      from bills
      where xmin = pg_current_xact_id()::xid
        and ${notMarked("bills")}
      union all
      select account, product_type, c_time
      from bill_revisions
      where xmin = pg_current_xact_id()::xid
        and ${notMarked("bill_revisions")}
    ) as is_unmarked`);
  return rows[0]?.is_unmarked === true;
}

/** Reports of which days of an account anything was written since the last call. */
export function daysWritten(pool: pg.Pool, account: string): () => Promise<readonly WalletDay[]> {
  let known = new Map<string, string>();
  return async () => {
    const { rows } = await pool.query<WalletDay & { version: string }>(dayVersions, [account]);
    const read = new Map(rows.map((row) => [`${row.wallet} ${row.day}`, row.version]));
    const gone = [...known.keys()].filter((name) => !read.has(name));
    const changed = [...read.keys()].filter((name) => read.get(name) !== known.get(name));
    known = read;
    return [...gone, ...changed].map((name) => {
      const [wallet = "", day = ""] = name.split(" ");
      return { account, wallet, day };
    });
  };
}

const walletAndDay = `
    case when product_type like 'UTA-%' then 'UTA' else product_type end as wallet,
    (c_time at time zone 'UTC')::date as day`;

/**
 * For each day, the physical places of its rows in each table, which change when the rows are
 * rewritten.
 */
const dayVersions = `
  select wallet, to_char(day, 'YYYY-MM-DD') as day, string_agg(version, ' ' order by version) as version
  from (
    select wallet, day, 'bills ' || count(*) || ' ' || sum(hashtext(xmin || ' ' || ctid)) as version
    from (select ${walletAndDay}, xmin::text, ctid::text from bills where account = $1) as bills
    group by wallet, day
    ${["dirty_days", ...dayTables.map(({ name }) => name)]
      .map(
        (table) => `
    union all
    select wallet, day, '${table} ' || xmin || ' ' || ctid
    from ${table}
    where account = $1`,
      )
      .join("")}
  ) as versions
  group by wallet, day`;

const notMarked = (table: string) => `
  not exists (
    select 1
    from dirty_days
    where dirty_days.account = ${table}.account
      and wallet = case when ${table}.product_type like 'UTA-%' then 'UTA' else ${table}.product_type end
      and day = (${table}.c_time at time zone 'UTC')::date
  )`;

/** Whether a transaction stored days, which changes no bills. */
export const areDays = (statements: Statements): boolean =>
  statements.some(
    ([text]) => typeof text === "string" && text.includes('lock table "meaning_turns'),
  );
