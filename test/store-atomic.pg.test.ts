// Holds: Atomic pages

import { sql } from "drizzle-orm";
import type { PoolClient } from "pg";
import { expect, test } from "vitest";
import type { Database } from "../src/db/connect.ts";
import { DatabaseError } from "../src/errors.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import type { Ledger, PageCommit } from "../src/sync/store.ts";
import { bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aPage, holdLedger, minutes, plan } from "./support/held-store.ts";

const { tables } = await fileDatabase();

type Loss = "the statement" | "its answer";

/** The database. One statement, or its answer, is lost together with the connection. */
function losing(what: Loss, atStatement: number): { db: Database; statements: string[] } {
  const statements: string[] = [];
  const spoil = (client: PoolClient): PoolClient =>
    new Proxy(client, {
      get(target, name) {
        if (name !== "query") return Reflect.get(target, name, target);
        return async (config: { text: string }, values: unknown[]) => {
          statements.push(config.text.trim());
          if (statements.length !== atStatement) return target.query(config, values);
          if (what === "its answer") await target.query(config, values);
          throw new Error("Connection terminated unexpectedly");
        };
      },
    });
  const connect = async () => spoil(await tables.db.$client.connect());
  const db: Database = Object.create(tables.db, { $client: { value: { connect } } });
  return { db, statements };
}

/** All that is stored of an account, including times and headers. */
async function contents({ account }: Ledger): Promise<readonly string[]> {
  const named = [
    "bills",
    "ledgers",
    "bill_revisions",
    "rejected_bills",
    "windows",
    "leases",
    "type_days",
    "symbol_days",
    "day_ends",
  ];
  const parts = named.map(
    (table) => sql`
      select ${table} as "table", stored::text as "row"
      from ${sql.identifier(table)} as stored
      where account = ${account}`,
  );
  const types = sql`select 'business_types', code from business_types where code = ${account}`;
  const { rows } = await tables.db.execute(sql.join([...parts, types], sql` union all `));
  return rows.map((row) => JSON.stringify(row)).sort();
}

const window = minutes(0, 10);

const fault = { path: "", reason: "is not an object" };

/**
 * The next page restates the bills. One of them is served broken, too, and is superseded by the good row.
 */
const firstRows = {
  bills: bills(2),
  rejected: bills(1).map(({ billId }) => ({
    received: { billId },
    text: JSON.stringify({ billId }),
    fault,
  })),
};

const aFullPage = (ledger: Ledger, next: PageCommit["next"]): PageCommit =>
  aPage(ledger, window, next, {
    after: "c1",
    bills: bills(3, { amount: "0.5", businessType: ledger.account }),
    rejected: [{ received: "x", text: '"x"', fault }],
  });

const nexts: readonly (readonly [string, PageCommit["next"]])[] = [
  ["goes on", { cursor: "c2" }],
  ["ends its window", { end: { proven: [minutes(4, 10)], lost: [minutes(0, 4)] } }],
];
const cases = nexts.flatMap(([name, next]) =>
  (["the statement", "its answer"] as const).map((loss) => [name, loss, next] as const),
);

/** Commits a page that writes every table, with one loss. */
async function commitLosing(next: PageCommit["next"], loss: Loss, atStatement: number) {
  const held = await holdLedger(tables.db);
  const { ledger } = held;
  await plan(held, [window]);
  await held.store.commitPage(aPage(ledger, window, { cursor: "c1" }, firstRows));
  const before = await contents(ledger);
  const { db, statements } = losing(loss, atStatement);
  const store = openStore(db, { account: ledger.account, epoch: 1 });
  const result = await store.commitPage(aFullPage(ledger, next)).catch((error: unknown) => error);
  return { before, after: await contents(ledger), statements, result };
}

const tablesOf = (rows: readonly string[]) => rows.map((row) => JSON.parse(row).table);

test.each(cases)(
  "a page that %s is stored wholly or not at all, whichever statement loses %s",
  async (_, loss, next) => {
    const { statements, ...whole } = await commitLosing(next, loss, Number.POSITIVE_INFINITY);
    expect(whole.result).toMatchObject({ new: 1, restated: 2, rejected: 1 });
    const firstWrite = statements.findIndex((statement) =>
      /^(insert|update|delete)/.test(statement),
    );
    expect(firstWrite).toBeGreaterThan(3);
    for (const [index, statement] of statements.entries()) {
      const { before, after, result } = await commitLosing(next, loss, index + 1);
      expect(result).toBeInstanceOf(DatabaseError);
      // COMMIT is sent before the writes are answered.
      if (loss === "its answer" && index >= firstWrite) {
        expect(tablesOf(after), statement).toEqual(tablesOf(whole.after));
      } else expect(after, statement).toEqual(before);
    }
  },
);

test("a page is not stored at all where a trigger drops a bill, and the error says how many", async () => {
  const held = await holdLedger(tables.db);
  const { ledger, store } = held;
  await plan(held, [window]);
  const before = await contents(ledger);
  await tables.db.execute(`
    create function drop_row() returns trigger language plpgsql as
      'begin return case when new.bill_id like ''%1'' then null else new end; end';
    create trigger drops before insert on bills for each row execute function drop_row()`);
  try {
    const page = aPage(ledger, window, { cursor: "c1" }, { bills: bills(10) });
    await expect(store.commitPage(page)).rejects.toThrow(
      /stored 9 of 10 bills .* a trigger or rule on table bills drops rows; remove it/,
    );
    expect(await contents(ledger)).toEqual(before);
  } finally {
    await tables.db.execute("drop trigger drops on bills");
  }
});
