// Holds: Nothing dropped
// A key reads what it may; what it is refused twice is no failure, and is requested again by each run; an
// account is read through an upgrade and back, with nothing written in transit.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import {
  classicProductTypes,
  isDemoProductType,
  type ProductType,
  productTypes,
} from "../src/core/contract/product-types.ts";
import { Refusal } from "../src/core/server/answer.ts";
import type { AccountReport } from "../src/core/sync/account-report.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import { productTypesOf } from "../src/core/words/account-state.ts";
import { dayMs, hourMs } from "../src/lib/time.ts";
import { openTestDatabase } from "./support/database.ts";
import { type SimulationOptions, simulate, simulationStart } from "./support/simulation.ts";

/** A simulated exchange with one account, of which all is read that the key may read. */
async function house(options: Partial<SimulationOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const { url, db } = stack.use(await openTestDatabase());
  const given = { seed: 1, name: "main", density: 0.05, productTypes, readsAll: true };
  const simulation = stack.use(simulate(url, { ...given, ...options }));
  return {
    ...simulation,
    db,
    refusals: () => simulation.sandbox.statistics().refusals,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const classicTypes = productTypesOf("classic");
const delisted = classicProductTypes.filter(isDemoProductType);

test("a delisted product type that the exchange refuses twice is no failure, is asked for once a week, and is read once it is granted", async () => {
  const [code, reason] = ["40099", "exchange environment is incorrect"];
  const refused = new Map(delisted.map((one) => [one, new Refusal(400, code, reason)]));
  await using at = await house({
    alterCredential: (credential) => ({ ...credential, refused }),
  });
  const typesOf = ({ ledgers }: AccountReport) => ledgers.map(({ ledger }) => ledger.productType);
  const first = await at.sync();
  expect(isComplete(first)).toBe(true);
  expect(typesOf(first)).toEqual(classicTypes.filter((one) => !isDemoProductType(one)));
  expect(first.notAvailable).toEqual(
    delisted.map((productType) => ({ productType, reason: expect.stringContaining(code) })),
  );
  expect(at.refusals()).toEqual({ [code]: 6 });
  await at.pass(hourMs);
  const second = await at.sync();
  expect(isComplete(second)).toBe(true);
  expect(second.notAvailable).toEqual([]);
  expect(at.refusals()).toEqual({ [code]: 6 });
  await at.pass(7 * dayMs);
  expect(isComplete(await at.sync())).toBe(true);
  expect(at.refusals()).toEqual({ [code]: 9 });
  refused.clear();
  await at.pass(7 * dayMs);
  expect(typesOf(await at.sync())).toEqual(classicTypes);
  const { rows } = await at.db.execute(
    sql`select product_type from ledgers where not_available_since is not null`,
  );
  expect(rows).toEqual([]);
  // What was read before is a failure. The first of these is probed before anything is planned, the second by
  // its window.
  const lost = ["USDT-FUTURES", "COIN-FUTURES"] as const;
  for (const one of lost) refused.set(one, new Refusal(400, "40014", "Incorrect permissions"));
  await at.pass(hourMs);
  const report = await at.sync();
  expect(report.notAvailable).toEqual([]);
  expect(
    typesOf({ ...report, ledgers: report.ledgers.filter(({ error }) => error !== undefined) }),
  ).toEqual(lost);
});

test("what the exchange refuses once by mistake is read all the same", async () => {
  let isMistaken = true;
  await using at = await house({
    wrapAnswer: (answer) => async (request) => {
      if (request.query["productType"] !== "COIN-FUTURES" || !isMistaken) return answer(request);
      isMistaken = false;
      const body = JSON.parse((await answer(request)).body);
      const refusal = { ...body, code: "40014", msg: "Incorrect permissions", data: null };
      return { status: 400, headers: {}, body: JSON.stringify(refusal) };
    },
  });
  const report = await at.sync();
  expect([isMistaken, isComplete(report), report.notAvailable]).toEqual([false, true, []]);
  expect(report.ledgers.map(({ ledger }) => ledger.productType)).toContain("COIN-FUTURES");
});

test("what is refused is a failure where it was named, and where it is all that there is", async () => {
  const refusing = (types: readonly ProductType[]): Partial<SimulationOptions> => ({
    alterCredential: (credential) => ({
      ...credential,
      refused: new Map(types.map((one) => [one, new Refusal(400, "400172", "productType")])),
    }),
  });
  const named = ["USDT-FUTURES", "SUSDT-FUTURES"] as const;
  await using at = await house({ ...refusing(delisted), productTypes: named, readsAll: false });
  const report = await at.sync();
  expect(isComplete(report)).toBe(false);
  expect(report.ledgers.map(({ requests, error }) => [requests > 1, error !== undefined])).toEqual([
    [true, false],
    [false, true],
  ]);
  expect(at.refusals()).toEqual({ "400172": 1 });

  await using none = await house(refusing(classicProductTypes));
  const nothing = await none.sync();
  expect(nothing.notAvailable).toEqual([]);
  expect(nothing.ledgers.filter(({ error }) => error !== undefined)).toHaveLength(6);
  expect(none.refusals()).toEqual({ "400172": 6 });
});

test("an account of which only product types of the other mode are named is a failure that says what to name", async () => {
  const named: Partial<SimulationOptions> = { productTypes: ["USDT-FUTURES"], readsAll: false };
  const modes = [
    { at: Number.NEGATIVE_INFINITY, mode: "classic" },
    { at: simulationStart + hourMs, mode: "unified" },
  ];
  await using at = await house({ ...named, modes });
  expect(isComplete(await at.sync())).toBe(true);
  await at.pass(2 * hourMs);
  const report = await at.sync();
  expect(String(report.error)).toMatch(/main is unified and has no USDT-FUTURES.*begin with UTA-/);
  expect(report.ended).toHaveLength(1);
  await using other = await house({ ...named, productTypes: ["UTA-SPOT"] });
  expect(String((await other.sync()).error)).toMatch(/main is classic and has no UTA-SPOT/);
  expect(other.refusals()).toEqual({ "40084": 1 });
});
