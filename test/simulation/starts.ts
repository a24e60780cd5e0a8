import type { ProductType } from "../../src/contract/product-types.ts";
import { dayMs, type EpochMs, epochMs } from "../../src/contract/time.ts";
import type { AccountReport } from "../../src/sync/run.ts";
import { checkAsked, checkCommitted, lookAtPlan } from "./checks.ts";
import type { ProcessDatabase } from "./database.ts";
import type { ProcessFault, Step } from "./history.ts";
import { type SimulatedProcess, startProcess } from "./process.ts";
import type { Run, Verification } from "./run-record.ts";
import { startSync } from "./sync-process.ts";
import { checkRepaired } from "./verification-checks.ts";
import { startVerify, type VerifyOutcome } from "./verify-process.ts";
import { historyStart, type World } from "./world.ts";

/** Called with each fault, and what it struck. */
export type OnFault = (fault: ProcessFault, struck: () => Struck) => void;
type Struck = { readonly process: SimulatedProcess; readonly database: ProcessDatabase };

/** A process with its faults, and what it shares with the others of its world. */
function openProcess(
  world: World,
  options: Pick<Step, "aheadMs"> & {
    readonly name: string;
    readonly faults: Step["process"];
    readonly productTypes: readonly ProductType[];
  },
  onFault: OnFault,
  struck: () => Struck,
) {
  const { time, pool, io, transactions, sandbox, wayMs, history } = world;
  const { name, aheadMs, faults, productTypes } = options;
  const process = startProcess({
    time,
    aheadMs,
    faults,
    onFault(fault) {
      world.trace(`${time.now()} ${name}: ${fault.kind}`);
      onFault(fault, struck);
    },
  });
  const seed = `${history.seed} ${name}`;
  return { process, sandbox, time, pool, io, transactions, wayMs, productTypes, seed };
}

/** Starts a sync, and checks its requests, answers and commits against the promises. */
export function startRun(
  world: World,
  { name, isAlone, key, isForeign }: Pick<Run, "name" | "isAlone" | "key" | "isForeign">,
  step: Step,
  onFault: OnFault,
) {
  const { time } = world;
  const run: Run = {
    name,
    isAlone,
    key,
    isForeign,
    beganAt: time.now(),
    endedAt: Number.NaN,
    report: undefined,
    isFaultless: true,
    isOvertaken: false,
    planFaults: [],
    pages: [],
  };
  const { aheadMs, process: faults } = step;
  const { productTypes } = world.account;
  const shared = openProcess(world, { name, aheadMs, faults, productTypes }, onFault, () => ({
    process: shared.process,
    database: sync.database,
  }));
  const sync = startSync({
    ...shared,
    key,
    isTrusted: isTrusted(world, run),
    faults: step.database,
    recoverFrom: recoverFromOf(world.history),
    onDatabaseFault: ({ of, kind }) => {
      world.trace(`${time.now()} ${name}: ${of} ${kind}`);
      world.strike(`database: ${of} ${kind}`);
    },
    events: {
      trace: world.trace,
      onHeld: (epoch) => key === "twice" || world.overtake(run, epoch),
      onRequest: (behind) => checkAsked(world, run, behind),
      onPage: (page) => void run.pages.push(page),
      onShown: ({ productType, rows }) => {
        for (const { billId } of rows) world.shown.add(`${productType} ${billId}`);
      },
      onPlan: ({ plan }) => lookAtPlan(world, run, plan),
      onCommit: (write) => checkCommitted(world, run, write),
    },
  });
  const ended = sync.ended.then((report) => {
    run.report = report;
    run.endedAt = time.now();
    world.trace(`${time.now()} ${name}: ${describeReport(report)}`);
  });
  return { run, ended };
}

/** The oldest time that is wanted of tax records. */
export const recoverFromOf = ({ records }: World["history"]): EpochMs | undefined =>
  records && epochMs(historyStart - records.wantedMs);

/** Whoever notices that a wrong key was used trusts the right one; and for each new key of an untold user. */
function isTrusted({ history, owner, keyInUse }: World, { key, isForeign }: Run): boolean {
  if (isForeign || keyInUse() === undefined) return false;
  return history.isUserUntold ? key !== keyInUse() : owner() === "empty" && key !== "empty";
}

type VerificationOptions = Pick<Step, "aheadMs"> & {
  readonly name: string;
  readonly days: number;
  readonly faults: readonly ProcessFault[];
};

/** Starts a `verify --repair`, and checks its writes against the promises. */
export function startVerification(world: World, options: VerificationOptions, onFault: OnFault) {
  const { time, ledger } = world;
  const { name, days } = options;
  ledger.isVerified = true;
  const to = world.now();
  const verification: Verification = {
    name,
    beganAt: time.now(),
    span: { from: epochMs(to - days * dayMs), to },
    productTypes: world.account.productTypes.filter((type) => world.account.has(type, to)),
    endedAt: Number.NaN,
    outcome: undefined,
  };
  const { productTypes } = verification;
  const shared = openProcess(world, { ...options, productTypes }, onFault, () => ({
    process: shared.process,
    database: verify.database,
  }));
  const verify = startVerify({
    ...shared,
    faults: [],
    onDatabaseFault: () => undefined,
    span: verification.span,
    repair: true,
    trace: world.trace,
    onRepaired: (repaired) => checkRepaired(world, verification, repaired),
  });
  const ended = verify.ended.then((outcome) => {
    verification.outcome = outcome;
    verification.endedAt = time.now();
    world.trace(`${time.now()} ${name}: ${describeOutcome(outcome)}`);
  });
  return { verification, ended };
}

const describeOutcome = (outcome: VerifyOutcome | "killed"): string =>
  outcome === "killed" ? outcome : JSON.stringify(outcome.differences) + outcome.error;

function describeReport(report: AccountReport | "killed"): string {
  if (report === "killed") return report;
  const { ledgers, error } = report;
  return (
    JSON.stringify(ledgers.map((ledger) => ({ ...ledger, error: String(ledger.error) }))) + error
  );
}
