// A role with one or two connections.

import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { accountsEnvironment } from "./support/accounts-file.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const productType = "USDT-FUTURES";
const maxMs = 5 * 60_000;

describe.concurrent("a role that may have few connections", { timeout: maxMs }, () => {
  test.each([1, 2])(
    "of %i migrates, syncs three accounts and is enough for doctor",
    async (limit) => {
      await using folder = await temporaryFolder();
      await using sandbox = await openSandbox({
        seed: "few connections",
        accountNames: ["a", "b", "c"],
        productTypes: [productType],
        density: 0.1,
      });
      await using database = await testDatabase({ isEmpty: true });
      await using admin = openDatabase(database.url);
      await using role = await limitedRole(admin.db, database.url, limit);
      const env = {
        DATABASE_URL: role.url,
        ...(await accountsEnvironment(folder.path, sandbox, productType)),
      };
      const syncedAt = Date.now();
      expect(await runCli(["sync"], { env, maxMs })).toMatchObject({ code: 0 });
      for (const account of sandbox.accounts) {
        const comparison = await heldAgainstLedger(
          admin.db,
          { account },
          productType,
          syncedAt,
          account.name,
        );
        expect(comparison).toMatchObject(exactly);
        expect(comparison.expected).toBeGreaterThan(150);
      }
      const doctor = await runCli(["doctor"], { env, maxMs });
      expect(doctor).toMatchObject({ code: 0 });
    },
  );
});

async function limitedRole(db: ReturnType<typeof openDatabase>["db"], at: string, limit: number) {
  const name = `bill_sync_limited_${randomBytes(6).toString("hex")}`;
  const url = new URL(at);
  const database = sql.identifier(url.pathname.slice(1));
  const role = sql.identifier(name);
  await db.execute(
    sql`create role ${role} login password 'few' connection limit ${sql.raw(String(limit))}`,
  );
  await db.execute(sql`grant create, temporary on database ${database} to ${role}`);
  await db.execute(sql`grant create, usage on schema public to ${role}`);
  url.username = name;
  url.password = "few";
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await db.execute(sql`drop owned by ${role}`);
      await db.execute(sql`drop role ${role}`);
    },
  };
}
