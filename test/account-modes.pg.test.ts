// Holds: Nothing dropped
// A key reads what it may; what it is refused twice is no failure, and is requested again by each run; an
// account is read through an upgrade and back, with nothing written in transit.

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import {
  classicProductTypes,
  isDemoProductType,
  type ProductType,
  productTypes,
} from "../src/contract/product-types.ts";
import { hourMs } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { Refusal } from "../src/exchange-server/source.ts";
import { productTypesOf } from "../src/sync/account-state.ts";
import { isComplete } from "../src/sync/run.ts";
import { testDatabase } from "./support/database.ts";
import { type SimulationOptions, simulate, simulationStart } from "./support/simulation.ts";

/** A simulated exchange with one account, of which all is read that the key may read. */
async function house(options: Partial<SimulationOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await testDatabase());
  const { db } = stack.use(openDatabase(url));
  const given = { seed: 1, name: "main", density: 0.05, productTypes, readsAll: true };
  const simulation = stack.use(simulate(url, { ...given, ...options }));
  return {
    ...simulation,
    db,
    refusals: () => simulation.sandbox.statistics().refusals,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const refusing = (
  refused: readonly ProductType[],
  refusal = new Refusal(400, "400172", "Parameter verification failed productType"),
): Partial<SimulationOptions> => ({
  alterCredential: (credential) => ({
    ...credential,
    refused: new Map(refused.map((productType) => [productType, refusal])),
  }),
});

const classicTypes = productTypesOf("classic");
const delisted = classicProductTypes.filter(isDemoProductType);

describe("what the exchange refuses to a key", () => {
  test("is no failure, is asked for twice, and once by each later run", async () => {
    const [code, reason] = ["40099", "exchange environment is incorrect"];
    await using at = await house(refusing(delisted, new Refusal(400, code, reason)));
    const first = await at.sync();
    expect(isComplete(first)).toBe(true);
    expect(first.ledgers.map(({ ledger }) => ledger.productType)).toEqual(
      classicTypes.filter((productType) => !isDemoProductType(productType)),
    );
    expect(first.notAvailable).toEqual(
      delisted.map((productType) => ({ productType, reason: expect.stringContaining(code) })),
    );
    expect(at.refusals()).toEqual({ [code]: 6 });
    await at.pass(hourMs);
    expect(isComplete(await at.sync())).toBe(true);
    expect(at.refusals()).toEqual({ [code]: 9 });
  });

  test("once by mistake is read all the same", async () => {
    const isMistaken = { value: true };
    await using at = await house({
      wrapAnswer: (answer) => async (request) => {
        const isAsked = request.query["productType"] === "COIN-FUTURES" && isMistaken.value;
        if (!isAsked) return answer(request);
        isMistaken.value = false;
        const body = JSON.parse((await answer(request)).body);
        const refusal = { ...body, code: "40014", msg: "Incorrect permissions", data: null };
        return { status: 400, headers: {}, body: JSON.stringify(refusal) };
      },
    });
    const report = await at.sync();
    expect(isMistaken.value).toBe(false);
    expect(isComplete(report)).toBe(true);
    expect(report.notAvailable).toEqual([]);
    expect(report.ledgers.map(({ ledger }) => ledger.productType)).toContain("COIN-FUTURES");
  });

  test("and is granted later is read then, and is no longer called not available", async () => {
    const refused = new Map<ProductType, Refusal>();
    await using at = await house({
      alterCredential: (credential) => ({ ...credential, refused }),
    });
    refused.set("COIN-FUTURES", new Refusal(400, "40014", "Incorrect permissions"));
    expect((await at.sync()).notAvailable).toHaveLength(1);
    refused.clear();
    await at.pass(hourMs);
    const later = await at.sync();
    expect(later.ledgers.map(({ ledger }) => ledger.productType)).toContain("COIN-FUTURES");
    const { rows } = await at.db.execute(
      sql`select product_type from ledgers where not_available_since is not null`,
    );
    expect(rows).toEqual([]);
  });

  test("and was named is a failure, and asked for once", async () => {
    const named: Partial<SimulationOptions> = {
      productTypes: ["USDT-FUTURES", "SUSDT-FUTURES"],
      readsAll: false,
    };
    await using at = await house({ ...refusing(delisted), ...named });
    const report = await at.sync();
    expect(isComplete(report)).toBe(false);
    expect(
      report.ledgers.map(({ requests, error }) => [requests > 1, error !== undefined]),
    ).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(at.refusals()).toEqual({ "400172": 1 });
  });

  test("and was read before is a failure, and so is all that there is", async () => {
    const refused = new Map<ProductType, Refusal>();
    await using at = await house({ alterCredential: (credential) => ({ ...credential, refused }) });
    expect(isComplete(await at.sync())).toBe(true);
    // The first product type is probed before anything is planned, the second by its window.
    for (const productType of ["USDT-FUTURES", "COIN-FUTURES"] as const) {
      refused.set(productType, new Refusal(400, "40014", "Incorrect permissions"));
    }
    await at.pass(hourMs);
    const report = await at.sync();
    expect(report.notAvailable).toEqual([]);
    expect(
      report.ledgers
        .filter(({ error }) => error !== undefined)
        .map(({ ledger }) => ledger.productType),
    ).toEqual(["USDT-FUTURES", "COIN-FUTURES"]);

    await using none = await house(refusing(classicProductTypes));
    const nothing = await none.sync();
    expect(nothing.notAvailable).toEqual([]);
    expect(nothing.ledgers.filter(({ error }) => error !== undefined)).toHaveLength(6);
    expect(none.refusals()).toEqual({ "400172": 6 });
  });
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
  expect(report.closed).toHaveLength(1);
  await using other = await house({ ...named, productTypes: ["UTA-SPOT"] });
  expect(String((await other.sync()).error)).toMatch(/main is classic and has no UTA-SPOT/);
  expect(other.refusals()).toEqual({ "40084": 1 });
});
