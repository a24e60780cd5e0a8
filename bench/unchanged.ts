import type { Bench } from "./result.ts";
import { openPageExchange } from "./support/exchange.ts";
import { type BenchDatabase, openBenchServer } from "./support/postgres.ts";
import { syncProcess } from "./support/sync.ts";

/*
 * What it costs to read unchanged bills again: rows written and WAL of a first load, and of two
 * more readings of the same ledger. Its time is unread again before each of them.
 */

const accounts = 2;
const productTypesEach = 2;

type Reading = { readonly name: string; readonly walBytes: number; readonly rowsWritten: number };

export const run: Bench = async ({ short }) => {
  const bills = short ? 10_000 : 1_000_000;
  await using server = await openBenchServer();
  await using exchange = await openPageExchange(bills / accounts / productTypesEach);
  await using database = await server.database();
  const job = {
    databaseUrl: database.url,
    exchangeUrl: exchange.url,
    accounts,
    productTypesEach,
  };
  const readings: Reading[] = [];
  for (const name of ["first load", "read at once again", "read again after a vacuum"]) {
    if (name.endsWith("vacuum")) await database.client.query("vacuum bills");
    await database.client.query(
      "update streams set covered = '{}', lost = '{}', settled_to = null",
    );
    await database.client.query("checkpoint");
    const before = await written(database);
    const { new: added, unchanged } = await syncProcess(job);
    const after = await written(database);
    if (added + unchanged < bills) throw new Error(`${added + unchanged} bills of ${bills} came`);
    readings.push({
      name,
      walBytes: after.walBytes - before.walBytes,
      rowsWritten: after.rowsWritten - before.rowsWritten,
    });
  }
  const first = readings[0]?.walBytes ?? Number.NaN;
  return {
    name: "unchanged",
    title: `WAL and rows of bills written by ${bills.toLocaleString("en")} bills`,
    rows: [
      ["", "rows written", "WAL, MB", "of the first load's"],
      ...readings.map(({ name, walBytes, rowsWritten }) => [
        name,
        rowsWritten.toLocaleString("en"),
        (walBytes / 1e6).toFixed(2),
        `${((100 * walBytes) / first).toFixed(2)}%`,
      ]),
    ],
    notes: [
      "Who first reads a row notes in its page that it is committed, and with checksums Postgres then logs",
      "the whole page, once. Autovacuum does so within a minute of a load.",
    ],
    json: { bills, readings },
  };
};

async function written({ client }: BenchDatabase) {
  const { rows } = await client.query(`
    select
      pg_current_wal_lsn() - '0/0' as wal_bytes,
      n_tup_ins + n_tup_upd + n_tup_del as rows_written
    from pg_stat_user_tables
    where relname = 'bills'`);
  return { walBytes: Number(rows[0]?.wal_bytes), rowsWritten: Number(rows[0]?.rows_written) };
}
