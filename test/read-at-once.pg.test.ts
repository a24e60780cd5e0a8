import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { readOnlyAtOnce } from "../src/db/read-only.ts";
import { fileDatabase } from "./support/database.ts";

const { tables } = await fileDatabase();
const read = readOnlyAtOnce(tables.db);

test("a statement that is read at once writes nothing, and is ended by the server in time", async () => {
  const bounds = await read(sql`
    select
      current_setting('transaction_read_only') as read_only,
      current_setting('transaction_isolation') as isolation,
      current_setting('statement_timeout') as statement_timeout`);
  expect(bounds.rows).toEqual([
    { read_only: "on", isolation: "repeatable read", statement_timeout: "20s" },
  ]);
  await expect(read(sql`delete from bills`)).rejects.toMatchObject({ code: "25006" });
});

test("a statement that fails at once leaves no transaction behind, and no setting", async () => {
  const asked = Array.from({ length: 30 }, (_, place) =>
    read<{ place: number }>(sql`select 12 / ${place % 3}::int as quotient`).then(
      ({ rows }) => rows,
      (error: unknown) => error,
    ),
  );
  const answers = await Promise.all(asked);
  for (const [place, answer] of answers.entries()) {
    if (place % 3 === 0) expect(answer).toMatchObject({ code: "22012" });
    else expect(answer).toEqual([{ quotient: 12 / (place % 3) }]);
  }
  const after = await tables.db.execute(sql`
    select
      current_setting('transaction_read_only') as read_only,
      current_setting('statement_timeout') as statement_timeout`);
  expect(after.rows).toEqual([{ read_only: "off", statement_timeout: "0" }]);
});
