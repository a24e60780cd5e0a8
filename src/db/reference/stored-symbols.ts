import { sql } from "drizzle-orm";
import { symbolFields } from "../../contract/symbols.ts";
import { isoTime } from "../../contract/time.ts";
import type { SymbolCounts, SymbolList } from "../../sync/store.ts";
import { refuseShortList } from "../../sync/sync-symbols.ts";
import { type Database, inTransaction, type Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { recordColumns } from "../schema/record-columns.ts";
import * as schema from "../schema/records-schema.ts";
import { textArray } from "../sql/array-literal.ts";
import { onlyRow } from "../sql/only-row.ts";

const { symbol: _, ...settingsFields } = symbolFields;
const settings = recordColumns(schema.symbols, Object.keys(settingsFields));

/**
 * Takes in the list of all pairs, in one transaction: writes what changed and nothing else, and
 * keeps what it replaced. Symbols are no account's, so that no lease guards them: runs that
 * bring a list at once take turns, and an older list changes nothing.
 *
 * @throws UnbelievableListError where the list is too short to be one.
 */
export function commitSymbols(db: Database, list: SymbolList): Promise<SymbolCounts> {
  return withDatabaseErrors(() =>
    inTransaction(db, async (tx) => {
      if (!(await isNewest(tx, list))) return { ...nothing, isOutdated: true };
      refuseShortList(list, await knownPairs(tx));
      const written = await writeSettings(tx, list);
      const gone = list.isWhole ? await markGone(tx, list) : 0;
      await writeVersions(tx, list);
      return { ...written, gone, isOutdated: false };
    }),
  );
}

const nothing = { new: 0, changed: 0, returned: 0, gone: 0 };

async function knownPairs(tx: Transaction): Promise<number> {
  const { rows } = await tx.execute<{ pairs: number }>(sql`
    select count(*)::int as pairs
    from symbols
    where gone_at is null`);
  return onlyRow(rows, "the number of pairs").pairs;
}

/**
 * Writes down when the newest list was read; false where a newer one, or this one, was before.
 * The row is the lock: whoever comes second waits here until the first has committed.
 */
async function isNewest(tx: Transaction, { readAt }: SymbolList): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    insert into symbol_lists (market, read_at)
    values ('spot', ${isoTime(readAt)})
    on conflict (market) do update
    set read_at = excluded.read_at
    where symbol_lists.read_at < excluded.read_at`);
  return rowCount === 1;
}

async function writeSettings(tx: Transaction, list: SymbolList) {
  const names = textArray(list.settings.map(({ symbol }) => symbol));
  const { rows } = await tx.execute<Omit<SymbolCounts, "gone" | "isOutdated">>(sql`
    with listed as (
      select symbol, ${settings.list}
      from unnest(${names}::text[], ${settings.arraysOf(list.settings)})
        as listed (symbol, ${settings.list})
    ),
    differing as (
      select listed.symbol, ${settings.listOf("listed")}, known.symbol is null as is_new, known.gone_at
      from listed
      left join symbols as known on known.symbol = listed.symbol
      where known.symbol is null
        or known.gone_at is not null
        or ${settings.contentOf("known")} is distinct from ${settings.contentOf("listed")}
    ),
    written as (
      insert into symbols (symbol, ${settings.list}, first_seen_at, valid_from)
      select symbol, ${settings.list}, ${isoTime(list.readAt)}, ${isoTime(list.readAt)}
      from differing
      on conflict (symbol) do update
      set ${settings.assignments}, valid_from = excluded.valid_from, gone_at = null
    )
    select
      (count(*) filter (where is_new))::int as new,
      (count(*) filter (where not is_new and gone_at is null))::int as changed,
      (count(*) filter (where gone_at is not null))::int as returned
    from differing`);
  return rows[0] ?? nothing;
}

/** @returns how many pairs are listed no longer. */
async function markGone(tx: Transaction, list: SymbolList): Promise<number> {
  const listed = [...list.settings.map(({ symbol }) => symbol), ...list.unread];
  const { rowCount } = await tx.execute(sql`
    update symbols
    set gone_at = ${isoTime(list.readAt)}
    where gone_at is null
      and symbol not in (select unnest(${textArray(listed)}::text[]))`);
  return rowCount ?? 0;
}

/** Ends the versions of what has changed or gone, and begins those of what changed. */
async function writeVersions(tx: Transaction, { readAt }: SymbolList): Promise<void> {
  await tx.execute(sql`
    update symbol_versions as version
    set valid_to = ${isoTime(readAt)}
    from symbols as today
    where today.symbol = version.symbol
      and version.valid_to is null
      and ${isoTime(readAt)} in (today.valid_from, today.gone_at)`);
  await tx.execute(sql`
    insert into symbol_versions (symbol, valid_from, ${settings.list})
    select symbol, valid_from, ${settings.list}
    from symbols
    where valid_from = ${isoTime(readAt)}`);
}
