import pg from "pg";
import { expect, test } from "vitest";
import { classicProductTypes, type ProductType } from "../src/core/contract/product-types.ts";
import { hourMs } from "../src/lib/time.ts";
import { fileDatabase } from "./support/database.ts";
import { simulate } from "./support/simulation.ts";

const { url } = await fileDatabase();

/** The statements that the driver is given while work is done. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const send = pg.Client.prototype.query;
  let statements = 0;
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    statements += 1;
    return Reflect.apply(send, this, given);
  } as typeof send;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = send;
  }
  return statements;
}

/** How many statements the third sync of an account sends, which finds nothing new. */
async function quietStatements(productTypes: readonly ProductType[]): Promise<number> {
  await using simulation = simulate(url, {
    ...{ name: `quiet-${productTypes.length}`, seed: 5, density: 0.05, productTypes },
    recoverFrom: "none",
  });
  await simulation.sync();
  await simulation.pass(hourMs);
  await simulation.sync();
  let found: readonly unknown[] = [];
  const statements = await statementsOf(async () => {
    const { ledgers, error } = await simulation.sync();
    found = [error, ...ledgers.map((ledger) => [ledger.error, ledger.new])];
  });
  expect(found).toEqual([undefined, ...productTypes.map(() => [undefined, 0])]);
  return statements;
}

test("a sync with nothing to do looks up and plans all ledgers of an account together", async () => {
  const one = await quietStatements(["USDT-FUTURES"]);
  const all = await quietStatements(classicProductTypes);
  const others = classicProductTypes.length - 1;
  console.info(
    `statements of a sync with nothing to do: ${one} of one ledger, ${all} of ${others + 1}`,
  );
  // Two pages: one with the newest bill, and one without, which ends the window. They were 34.
  expect((all - one) / others).toBeLessThan(20);
});
