import {
  type Difference,
  type LedgerVerification,
  ledgerVerifiers,
  type VerifyDeps,
  verifyBills,
} from "../../src/check/verify/verify.ts";
import type { ProductType } from "../../src/core/contract/product-types.ts";
import { Leases } from "../../src/core/store/lease.ts";
import { openVerifyStore, type VerifyStore } from "../../src/core/store/verify-store.ts";
import type { Interval } from "../../src/core/words/intervals.ts";
import type { Ledger } from "../../src/core/words/ledger.ts";
import type { ReadRows } from "../../src/core/words/page.ts";
import { dayMs, epochMs, retentionMs } from "../../src/lib/time.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import { versionOf, type WrittenBill } from "./committed.ts";
import type { ProcessFault } from "./history.ts";
import { noted, type OnFault, openProcess } from "./outside.ts";
import { isKnowable, lostBills } from "./row-checks.ts";
import { type LedgerTables, readWritten, type Tables } from "./tables.ts";
import type { World } from "./world.ts";

/** One `verify --repair` of a history, and its result. */
export type Verification = {
  readonly name: string;
  readonly beganAt: number;
  readonly span: Interval;
  /** The account's product types when it begins. */
  readonly productTypes: readonly ProductType[];
  endedAt: number;
  outcome: Outcome | "killed" | undefined;
};

/** The ledgers, or why the account was not verified at all. */
type Outcome = { readonly ledgers: readonly LedgerVerification[]; readonly error: unknown };

/** The rows that were compared. */
type ComparedRows = ReadRows & { readonly ledger: Ledger };

/** Starts a `verify --repair` in a simulated process, and checks its writes against the promises. */
export function startVerification(
  world: World,
  options: {
    readonly name: string;
    readonly days: number;
    readonly aheadMs: number;
    readonly faults: readonly ProcessFault[];
  },
  onFault: OnFault,
) {
  const { time, trace } = world;
  const { name, days } = options;
  world.ledger.isVerified = true;
  const to = world.now();
  const verification: Verification = {
    name,
    beganAt: time.now(),
    span: { from: epochMs(to - days * dayMs), to },
    productTypes: world.account.productTypes.filter((type) => world.account.has(type, to)),
    endedAt: Number.NaN,
    outcome: undefined,
  };
  const account = world.sandbox.account.name;
  const pages: ComparedRows[] = [];
  let written: readonly WrittenBill[] = [];
  const { process, database, exchange } = openProcess(
    world,
    { ...options, onFault },
    {
      async beforeCommit(client) {
        written = await readWritten(client, account);
      },
      onCommit() {
        const [rows] = pages;
        if (rows === undefined) throw new Error("the server committed what nobody wrote");
        checkRepaired(world, verification, rows, written);
      },
    },
  );
  const verify = async (): Promise<Outcome> => {
    const { db } = database;
    const { clock, signal } = process;
    try {
      await using lease = await new Leases(db, { clock }).take(account, { signal });
      const deps: VerifyDeps = {
        client: exchange.client,
        exchangeNow: exchange.exchangeNow,
        assertHeld: lease.assertHeld,
        store: watched(openVerifyStore(db, lease), pages),
        ...{ repair: true, signal, sleep: clock.sleep },
        onProgress: () => undefined,
      };
      const { span, productTypes } = verification;
      const verifiers = productTypes.map(ledgerVerifiers(deps, account, () => span));
      return { ledgers: await verifyBills(deps, verifiers, span), error: undefined };
    } catch (error) {
      return { ledgers: [], error };
    }
  };
  const end = Promise.race([verify(), process.died.then(() => "killed" as const)]);
  const ended = end.then((outcome) => {
    verification.outcome = outcome;
    verification.endedAt = time.now();
    trace(`${time.now()} ${name}: ${describe(outcome)}`);
  });
  return { verification, ended };
}

const describe = (outcome: Outcome | "killed"): string =>
  outcome === "killed" ? outcome : JSON.stringify(differencesOf(outcome)) + outcome.error;

const differencesOf = ({ ledgers }: Outcome): readonly Difference[] =>
  ledgers.flatMap(({ differences }) => differences);

/** The store. Each page is recorded from its request until it is over. */
const watched = (store: VerifyStore, pages: ComparedRows[]): VerifyStore => ({
  ...store,
  compare: (ledger, rows, isRepaired) =>
    noted(pages, { ledger, bills: [], rejected: [] }, () =>
      store.compare(ledger, rows, isRepaired),
    ),
  repair: (ledger, rows) => noted(pages, { ledger, ...rows }, () => store.repair(ledger, rows)),
});

/** What a repair wrote, at the moment of the server's commit. */
function checkRepaired(
  { committed, verdicts, trace, time }: World,
  { name }: Verification,
  rows: ComparedRows,
  written: readonly WrittenBill[],
): void {
  trace(`${time.now()} ${name} commits a repair`);
  const wanted = new Set(rows.bills.map(({ billId }) => billId));
  const others = written.filter(({ billId }) => !wanted.has(billId));
  verdicts.check("verified", written.length, [
    ...others.map(({ billId }) => `${name} wrote ${billId}, which it was not served`),
    ...committed
      .addRepaired(written, rows)
      .map((billId) => `${name} put an older content of ${billId} in the place of a newer one`),
  ]);
}

/** If a verification came to its end, what it read is stored as it was served. */
export function checkVerified(world: World, verification: Verification, after: Tables): void {
  const { ledger, verdicts, committed } = world;
  const { name, outcome } = verification;
  if (outcome === undefined) throw new Error(`${name} did not end`);
  if (!isWhole(outcome)) return;
  const { certainly } = readBy(world, verification);
  for (const productType of verification.productTypes) {
    const told = toldOf(outcome, productType).filter(
      (difference) => "isRepaired" in difference && !difference.isRepaired,
    );
    const isTold = ({ billId }: LedgerBill) =>
      told.some((difference) => difference.billId === billId);
    const bills = ledger
      .bills(productType)
      .filter((bill) => certainly(bill) && !isTold(bill) && isKnowable(world, productType, bill));
    const missing = lostBills(bills, after[productType]);
    const { versions } = committed.of(productType);
    const old = bills.filter(
      (bill) => isRestated(bill, verification.beganAt) && versions.get(bill.billId) === "original",
    );
    verdicts.check("verified", bills.length, [
      ...missing.map(({ billId }) => `${name}: ${productType} ${billId} is still not stored`),
      ...old.map(({ billId }) => `${name}: ${productType} ${billId} is stored as it once was`),
    ]);
  }
}

/** If nothing else runs and there are no faults, it names exactly what differed before. */
export function checkFindings(world: World, verification: Verification, before: Tables): void {
  const { ledger, verdicts } = world;
  const { name, outcome, beganAt, endedAt } = verification;
  if (outcome === undefined || !isWhole(outcome)) {
    verdicts.check("verified", 1, [`${name} did not come to its end: ${whyNot(outcome)}`]);
    return;
  }
  const { certainly, perhaps } = readBy(world, verification);
  for (const productType of verification.productTypes) {
    const bills = ledger.bills(productType);
    const stored = before[productType];
    const told = toldOf(outcome, productType);
    const differing = (
      kind: Difference["kind"],
      differs: (bill: LedgerBill, at: number) => boolean,
    ) =>
      misnamed(
        kind,
        told,
        bills.filter((bill) => certainly(bill) && differs(bill, beganAt)),
        bills.filter((bill) => perhaps(bill) && differs(bill, endedAt)),
      );
    const rejected = told.filter(({ kind }) => kind === "rejected").length;
    const [least, most] = [certainly, perhaps].map((isRead) => brokenRows(bills.filter(isRead)));
    const wrong = [
      ...differing("missing", (bill) => bill.broken === undefined && !isStored(stored, bill)),
      ...differing("changed", (bill, at) => isRestated(bill, at) && isOriginal(stored, bill)),
      ...told
        .filter((difference) => "isRepaired" in difference && !difference.isRepaired)
        .map(({ billId }) => `${billId} differs and was not repaired`),
      ...told.flatMap(({ kind, billId }) =>
        kind === "unserved" ? [`${billId} is called unserved`] : [],
      ),
      ...(rejected >= (least ?? 0) && rejected <= (most ?? 0)
        ? []
        : [`${rejected} rows are called broken, not ${least} to ${most}`]),
    ];
    verdicts.check(
      "verified",
      bills.length,
      wrong.map((what) => `${name}: ${productType} ${what}`),
    );
  }
}

const isWhole = (outcome: Outcome | "killed"): outcome is Outcome =>
  outcome !== "killed" &&
  outcome.error === undefined &&
  outcome.ledgers.every(({ error }) => error === undefined);

const whyNot = (outcome: Outcome | "killed" | undefined): string =>
  typeof outcome === "object"
    ? [outcome.error, ...outcome.ledgers.map(({ error }) => error)].join(" ")
    : String(outcome);

const toldOf = (outcome: Outcome, productType: string): readonly Difference[] =>
  differencesOf(outcome).filter(({ ledger }) => ledger.productType === productType);

/** Which bills a verification must have been served, and which it may have been served. */
function readBy({ tolerance }: World, { span, beganAt, endedAt }: Verification) {
  const { aheadMs, behindMs, edgeMs } = tolerance;
  const from = Math.max(span.from, endedAt - retentionMs + edgeMs);
  return {
    certainly: ({ cTime, visibleAt }: LedgerBill) =>
      cTime >= from && cTime < span.to - behindMs && visibleAt <= beganAt - aheadMs,
    // A row that breaks the contract may have no time of its own, so it counts at the edges, too.
    perhaps: ({ cTime, visibleAt, broken }: LedgerBill) => {
      const marginMs = broken === undefined ? 0 : 1;
      const isInside = cTime >= span.from - marginMs && cTime < span.to + marginMs;
      return isInside && visibleAt <= endedAt + aheadMs;
    },
  };
}

const isRestated = ({ restated }: LedgerBill, at: number): boolean =>
  restated !== undefined && restated.at <= at;

const isStored = ({ bills }: LedgerTables, { billId }: LedgerBill): boolean =>
  bills.some((bill) => bill.billId === billId);

const isOriginal = ({ bills }: LedgerTables, { billId }: LedgerBill): boolean =>
  bills.some((bill) => bill.billId === billId && versionOf(bill) === "original");

/** Equal ones count once. */
const brokenRows = (bills: readonly LedgerBill[]): number =>
  new Set(bills.filter(({ broken }) => broken !== undefined).map(({ row }) => JSON.stringify(row)))
    .size;

/** Findings of a kind that should not be there, and bills that should be among them. */
function misnamed(
  kind: Difference["kind"],
  told: readonly Difference[],
  least: readonly LedgerBill[],
  most: readonly LedgerBill[],
): readonly string[] {
  const named = new Set(
    told.filter((difference) => difference.kind === kind).map(({ billId }) => billId),
  );
  const allowed = new Set(most.map(({ billId }) => billId));
  return [
    ...least
      .filter(({ billId }) => !named.has(billId))
      .map(({ billId }) => `${billId} is not called ${kind}`),
    ...[...named]
      .filter((billId) => billId === undefined || !allowed.has(billId))
      .map((billId) => `${billId} is called ${kind}`),
  ];
}
