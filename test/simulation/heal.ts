import { type Break, type BrokenSpan, readBreaks } from "../../src/check/reconcile/breaks.ts";
import { reconcileAndHeal } from "../../src/check/reconcile/reconcile.ts";
import { repairedIn } from "../../src/check/verify/verify.ts";
import { healAccount } from "../../src/commands/heal.ts";
import { compareIds } from "../../src/core/contract/bill.ts";
import { walletOf } from "../../src/core/contract/product-types.ts";
import { Leases } from "../../src/core/store/lease.ts";
import { epochMs, retentionMs } from "../../src/lib/time.ts";
import type { LedgerBill, WireBill } from "../../src/wings/sandbox/entry.ts";
import type { Source } from "../../src/wings/sandbox/exchange/source.ts";
import { seededRandom } from "../../src/wings/sandbox/random.ts";
import { unproven } from "../support/unproven.ts";
import type { History } from "./history.ts";
import { credentialsOf, openProcess } from "./outside.ts";
import { type LedgerTables, readWritten, type Tables } from "./tables.ts";
import { timeText } from "./time-checks.ts";
import type { World } from "./world.ts";

/** A source of which one answer in three knows nothing of the last time. */
export function laggingReplica(
  source: Source,
  { seed, healing }: History,
  onLag: () => void,
  isOver: () => boolean,
): Source {
  const { lagMs = 0 } = healing ?? {};
  const random = seededRandom(`replica ${seed}`);
  return {
    ...source,
    bills(request) {
      if (lagMs === 0 || isOver() || random() >= 1 / 3) return source.bills(request);
      onLag();
      const { now, endTime = now } = request;
      return source.bills({ ...request, endTime: epochMs(Math.min(endTime, now - lagMs)) });
    },
  };
}

const isOfBalance = ({ kind }: Break): boolean => kind === "balance";

/** The check with which a sync ends, as the command makes it: what does not add up is read again. */
export async function healAlone(world: World): Promise<void> {
  const { time, trace, faults, committed, verdicts, sandbox, account } = world;
  const { name } = sandbox.account;
  let written: Awaited<ReturnType<typeof readWritten>> = [];
  const beside = { name: "the check", aheadMs: 0, faults: [], onFault: () => undefined };
  const { process, database, access } = openProcess(world, beside, {
    async beforeCommit(client) {
      written = await readWritten(client, name);
    },
    onCommit() {
      const older = committed.addRepaired(written);
      verdicts.check(
        "healed",
        written.length,
        older.map((billId) => `an older content of ${billId} was put over a newer one`),
      );
    },
  });
  const { db } = database;
  const { clock, signal } = process;
  const config = { baseUrl: new URL("http://127.0.0.1") };
  const notice = () => undefined;
  const deps = { db, signal, notice, config, access, leases: new Leases(db, { clock }) };
  const { productTypes } = account;
  const configured = { name, productTypes, lookUp: () => credentialsOf(sandbox, "own") };
  const among = { accounts: [name], productTypes: undefined };
  const say = (what: string, count: number) => {
    trace(`${time.now()} the check: ${count} ${what}`);
    faults.set(`healing: ${what}`, (faults.get(`healing: ${what}`) ?? 0) + count);
  };
  const heal = async (spans: readonly BrokenSpan[]) => {
    say("breaks found", (await readBreaks(db, among)).filter(isOfBalance).length);
    const { ledgers } = await healAccount(deps, configured, spans);
    say("bills stored", repairedIn(ledgers));
    return repairedIn(ledgers) > 0;
  };
  const skipsFailed = true;
  const { breaks } = await time.run(
    reconcileAndHeal(db, among, { isFull: false, skipsFailed }, heal),
  );
  say("breaks left", breaks.filter(isOfBalance).length);
  // Nobody changes rows by hand: what does not follow is a break.
  verdicts.check("proven balances", 1, await time.run(unproven(db, [name])));
}

/** Once nothing hides them any more, no bills are missing that a balance shows and the exchange still serves. */
export function checkHealed(world: World, after: Tables): void {
  const { account, ledger, verdicts, tolerance, time } = world;
  const horizon = time.now() - retentionMs + tolerance.edgeMs;
  for (const [wallet, productTypes] of Map.groupBy(account.productTypes, walletOf)) {
    const bills = productTypes.flatMap((type) => heldBills(ledger.bills(type), after[type]));
    // Of several product types, the ids tell in which order the balances moved.
    const moved =
      productTypes.length === 1
        ? bills
        : bills.toSorted((a, b) => compareIds(a.bill.billId, b.bill.billId));
    const gaps = [...Map.groupBy(moved, ({ bill }) => bill.coin).values()].flatMap(shownGaps);
    verdicts.check(
      "healed",
      bills.length,
      gaps
        .filter(({ missing }) => missing.every(({ cTime }) => cTime >= horizon))
        .map(
          ({ missing: [first, ...others], next }) =>
            `${wallet}: the balance after ${next.billId} shows that ${first?.billId} of ${timeText(first?.cTime ?? 0)} and ${others.length} more are missing`,
        ),
    );
  }
}

/** A bill of the exchange, whether it is stored, and whether its time is covered. */
type HeldBill = { readonly bill: LedgerBill; readonly isStored: boolean; readonly isRead: boolean };

function heldBills(bills: readonly LedgerBill[], tables: LedgerTables): readonly HeldBill[] {
  const covered = tables.spans.filter(({ state }) => state === "covered");
  const stored = new Set(tables.bills.map(({ billId }) => billId));
  return bills.map((bill) => ({
    bill,
    isStored: stored.has(bill.billId),
    isRead: covered.some(({ from, to }) => bill.cTime >= from && bill.cTime < to),
  }));
}

type Gap = { readonly missing: readonly LedgerBill[]; readonly next: LedgerBill };

/** Where the balance before a stored bill is not that after the stored bill before it. */
function shownGaps(ofCoin: readonly HeldBill[]): readonly Gap[] {
  const gaps: Gap[] = [];
  let missing: LedgerBill[] = [];
  let known: number | undefined;
  for (const { bill, isStored, isRead } of ofCoin) {
    if (!isStored) missing.push(bill);
    else {
      const before = balanceOf(missing.at(-1));
      const isShown = before !== undefined && known !== undefined && balanceOf(bill) !== undefined;
      if (isRead && isShown && before !== known) gaps.push({ missing, next: bill });
      missing = [];
      known = balanceOf(bill);
    }
  }
  return gaps;
}

/** Two texts of one balance are one number; some rows have none. */
function balanceOf(bill: LedgerBill | undefined): number | undefined {
  const balance = (bill?.row as WireBill | undefined)?.["balance"];
  return typeof balance === "string" && balance !== "" ? Number(balance) : undefined;
}
