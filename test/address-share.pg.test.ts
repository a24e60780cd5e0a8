import { hostname } from "node:os";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { rollingWindow } from "../src/core/server/arrivals.ts";
import { countNeighbours, holderName } from "../src/core/store/lease/leases.ts";
import { dayMs, epochMs, isoTime, secondMs } from "../src/lib/time.ts";
import { openSandbox } from "../src/wings/sandbox/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { fileDatabase } from "./support/database.ts";

const { db, url } = await fileDatabase();

type Lease = { readonly holder: string; readonly leftSeconds: number };

async function holdLeases(leases: readonly Lease[]): Promise<void> {
  for (const [index, { holder, leftSeconds }] of leases.entries()) {
    await db.execute(sql`
      insert into leases (account, holder, epoch, expires_at)
      values (
        ${`${holder} ${index}`}, ${holder}, 1,
        clock_timestamp() + ${leftSeconds} * interval '1 s'
      )`);
  }
}

test("processes share an address where all of them named it, and where one of a machine's named none", async () => {
  const leftSeconds = 3_600;
  const [named, other] = [{ localAddress: "10.1.2.3" }, { localAddress: "10.1.2.30" }];
  const nat = { name: "nat-1", localAddress: "10.1.2.4" };
  await holdLeases([
    { holder: holderName(4_000_001, named), leftSeconds },
    { holder: holderName(4_000_002, other), leftSeconds },
    { holder: holderName(4_000_003), leftSeconds },
    { holder: "another process 1 via 10.1.2.3", leftSeconds },
    { holder: "another process 2", leftSeconds },
    { holder: "another process 3 via nat-1", leftSeconds },
    // One that has ended, one that was killed, this one (another to those that name their address), one with
    // two accounts, and one of a machine with a similar name.
    { holder: "", leftSeconds: 1 },
    { holder: holderName(2_000_000), leftSeconds: -1 },
    { holder: holderName(), leftSeconds },
    { holder: holderName(4_000_003), leftSeconds },
    { holder: `${hostname()}2 process 7`, leftSeconds },
  ]);
  const counts = [named, other, nat, {}].map((egress) => countNeighbours(db, egress));
  expect(await Promise.all(counts)).toEqual([4, 3, 3, 3]);
  await db.execute(sql`delete from leases`);
});

test("a run beside others of its machine, each with accounts of its own, keeps to its share of the address", async () => {
  await holdLeases(
    Array.from({ length: 18 }, (_, index) => ({
      holder: holderName(1_000_001 + index),
      leftSeconds: 3_600,
    })),
  );
  const arrivals = rollingWindow(secondMs);
  let requests = 0;
  await using sandbox = await openSandbox({
    seed: "neighbours",
    density: 0,
    wrapAnswer: (answer) => (request) => {
      // Only the exchange's time is requested without a key. It counts as every other request does.
      arrivals.arrive(performance.now());
      requests += 1;
      return answer(request);
    },
  });
  const env = environmentFor(sandbox, { url }, { PRODUCT_TYPES: "USDT-FUTURES" });
  const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));
  const span = ["--from", daysAgo(40), "--to", daysAgo(1)];
  // Nothing was synced, so that its bills are missing.
  expect(await runCli(["verify", ...span], { env })).toMatchObject({ code: 1 });
  expect(requests).toBeGreaterThan(10);
  // Nineteen processes share eighty requests a second. A request may take a moment longer than the one before
  // it.
  expect(arrivals.peak()).toBeLessThanOrEqual(5);
  expect(arrivals.peak()).toBeGreaterThan(1);
});
