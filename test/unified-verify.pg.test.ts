// A unified account is verified and repaired; its rejected rows and new keys are checked against its own
// ledger.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { unifiedProductTypes } from "../src/contract/product-types.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { Leases } from "../src/db/lease/leases.ts";
import { replayBatch } from "../src/ledger/replay-rows.ts";
import { quirky } from "./faults/quirks.ts";
import { fileDatabase } from "./support/database.ts";
import { exactly } from "./support/sandbox-ledger.ts";
import { simulate, simulationStart } from "./support/simulation.ts";
import { verifyIn } from "./support/verification.ts";

const { database, tables } = await fileDatabase();

const unified = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];

/** A unified account that was synced. */
async function synced(name: string, seed: number) {
  const simulation = simulate(database.url, {
    seed,
    name,
    density: 0.3,
    modes: unified,
    productTypes: unifiedProductTypes,
    // No real unified account is like this: it makes the walk use both of its methods.
    wrapSource: quirky({ sortedBy: "time", shortPages: true }),
  });
  const report = await simulation.sync();
  expect(report.error ?? report.streams.find(({ error }) => error)?.error).toBeUndefined();
  return simulation;
}

const span = { from: epochMs(simulationStart - 80 * dayMs), to: epochMs(simulationStart - dayMs) };
const wanted = { span, productTypes: unifiedProductTypes };

test("a verification of a unified account names what is missing and what differs, and repairs it", async () => {
  await using simulation = await synced("repaired", 7);
  const read = () => verifyIn(tables.db, simulation, wanted);
  const sound = await read();
  expect(sound.findings).toEqual([]);
  expect(sound.streams.map(({ error }) => error)).toEqual(unifiedProductTypes.map(() => undefined));
  expect(sound.streams.every(({ compared }) => compared > 20)).toBe(true);

  const inside = sql`account = 'repaired' and c_time between ${new Date(span.from)} and ${new Date(span.to)}`;
  const { rows: gone } = await tables.db.execute<{ bill_id: string }>(sql`
    delete from bills
    where (product_type, bill_id) in (
      select product_type, bill_id
      from bills
      where ${inside} and product_type in ('UTA-SPOT', 'UTA-OTHER')
      order by bill_id
      limit 5
    )
    returning bill_id`);
  await tables.db.execute(sql`
    update bills
    set position_balance = coalesce(position_balance, 0) + 1
    where product_type = 'UTA-USDT-FUTURES'
      and bill_id = (
        select min(bill_id) from bills where ${inside} and product_type = 'UTA-USDT-FUTURES'
      )`);
  const found = await verifyIn(tables.db, simulation, { ...wanted, repair: true });
  const missing = found.findings.filter(({ kind }) => kind === "missing");
  expect(missing).toHaveLength(gone.length);
  expect(found.findings.filter(({ kind }) => kind !== "missing")).toMatchObject([
    { kind: "changed", fields: [{ field: "position_balance" }], isRepaired: true },
  ]);
  expect((await read()).findings).toEqual([]);
  const compared = await simulation.compare();
  expect(compared.map(({ missing, extra, different }) => ({ missing, extra, different }))).toEqual(
    unifiedProductTypes.map(() => exactly),
  );
});

test("a rejected row of a unified account is read again as one of its own ledger", async () => {
  const account = "replayed";
  const row = {
    category: "SPOT",
    id: "1486721507613851649",
    symbol: "RTOWNUSDT",
    coin: "USDT",
    type: "ORDER_DEALT_FROZEN_OUT",
    amount: "-10.1079350372",
    fee: "-0.0100978372",
    balance: "2.8920649628",
    ts: "1790187950042",
  };
  await tables.db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, fault_path, fault, rejected_at
    )
    select
      ${account}, product_type, product_type, ${JSON.stringify(row)}, 'old', 'is not known',
      clock_timestamp()
    from unnest(array['UTA-SPOT', 'UTA-OTHER']) as product_type`);
  await using lease = await new Leases(tables.db).take(account, {
    signal: new AbortController().signal,
  });
  const spot = await replayBatch(tables.db, lease, { account, productType: "UTA-SPOT" }, undefined);
  expect(spot).toMatchObject({ new: 1, left: [] });
  const other = await replayBatch(
    tables.db,
    lease,
    { account, productType: "UTA-OTHER" },
    undefined,
  );
  expect(other).toMatchObject({ new: 0, left: [{ path: "category" }] });
});
