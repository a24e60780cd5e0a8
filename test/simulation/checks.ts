import { billsOperations } from "../../src/core/contract/bills-api.ts";
import { keyInfo } from "../../src/core/contract/key-info.ts";
import { isUnified } from "../../src/core/contract/product-types.ts";
import { taxOperations } from "../../src/core/contract/tax-records.ts";
import { accountSettings } from "../../src/core/contract/unified-account.ts";
import { balancesOperations } from "../../src/core/contract/wallet-balances.ts";
import type { AccountReport } from "../../src/core/sync/account-report.ts";
import { isComplete } from "../../src/core/sync/account-report.ts";
import type { LedgerReport } from "../../src/core/sync/ledger-run.ts";
import type { LedgerPlan } from "../../src/core/words/ledger.ts";
import { UsageError } from "../../src/lib/errors.ts";
import { hourMs, retentionMs } from "../../src/lib/time.ts";
import type { LedgerBill } from "../../src/wings/sandbox/entry.ts";
import { modeOfType } from "./account.ts";
import type { CommittedLedger, Write } from "./committed.ts";
import { checkEnded, checkMode, checkTransit, checkUnread } from "./mode-checks.ts";
import type { ServedPage } from "./outside.ts";
import { checkReached, recoveredFaults } from "./recovered-checks.ts";
import {
  isBehindCursor,
  isClaimed,
  isFiltered,
  isKnowable,
  isOldestFirst,
  lostBills,
  revisionFaults,
  rewritten,
  rowFaults,
} from "./row-checks.ts";
import type { Run } from "./sync.ts";
import { type LedgerTables, readSpans, type Span, type Tables } from "./tables.ts";
import {
  expiredTooEarly,
  holesBehind,
  overlaps,
  planFaults,
  settledOf,
  settleLagMs,
  type Tolerance,
  timeText,
} from "./time-checks.ts";
import type { PromiseName } from "./verdicts.ts";
import { accountName, requestsForBills, type World } from "./world.ts";

/** A page is requested only when everything before it is committed. */
export function checkAsked(world: World, run: Run, behind: ServedPage | undefined): void {
  if (behind !== undefined) checkServed(world, run, [behind], "was served, and the walk went on");
}

function checkServed(
  { committed, verdicts }: World,
  run: Run,
  pages: readonly ServedPage[],
  what: string,
) {
  for (const { productType, rows } of pages) {
    const { versions, rejected } = committed.of(productType);
    const dropped = rows.filter(
      ({ billId, text }) =>
        !rejected.has(text) && !(typeof billId === "string" && versions.has(billId)),
    );
    verdicts.check(
      "nothing dropped",
      rows.length,
      dropped.map(({ text }) => `${run.name}: ${productType} ${text} ${what} without it`),
    );
  }
}

/** Checks what is settled when a run is about to record its plan. */
export async function lookAtPlan(world: World, run: Run, plan: LedgerPlan): Promise<void> {
  const { io, pool, now, tolerance } = world;
  const { productType } = plan.ledger;
  const all = await io(() => readSpans(pool, accountName));
  const own = all.filter((span) => span.productType === productType);
  run.planFaults.set(
    plan,
    planFaults(plan, settledOf(own), now(), tolerance).map(
      (what) => `${run.name}: plan of ${productType}: ${what}`,
    ),
  );
}

/** What the server committed, at the moment of the commit. */
export function checkCommitted(world: World, run: Run, write: Write): void {
  const { verdicts, committed } = world;
  world.trace(`${world.time.now()} ${run.name} commits a ${write.kind}`);
  verdicts.check(
    "overtaken",
    1,
    run.isOvertaken ? [`${run.name} committed a ${write.kind} after another run took over`] : [],
  );
  if (write.kind === "key") world.acceptKey(run.key);
  verdicts.check(
    "identity",
    1,
    run.isForeign ? [`${run.name} committed a ${write.kind} with the key "${run.key}"`] : [],
  );
  checkTransit(world, run, write);
  if (write.kind === "page") {
    const older = committed.add(write.page);
    verdicts.check(
      "restatements",
      write.page.bills.length,
      older.map((billId) => `${run.name} put an older content of ${billId} over a newer one`),
    );
  }
  for (const plan of write.kind === "plans" ? write.plans : []) checkPlan(world, run, plan);
}

function checkPlan({ verdicts, committed, ledger, history }: World, run: Run, plan: LedgerPlan) {
  committed.addPlan(plan);
  const { productType } = plan.ledger;
  verdicts.check("tiling", plan.windows.length, run.planFaults.get(plan) ?? []);
  // Another run may have read that time already, also one that began later: this one may have been frozen.
  if (!history.ledger.edgeBills || !run.isAlone) return;
  for (const { window, cursor } of plan.windows) {
    if (cursor === undefined) ledger.addEdges(productType, window);
  }
}

/** The tables between two steps. */
export function checkTables(world: World, before: Tables, after: Tables): void {
  const { account, committed, ledger, verdicts, tolerance, sandbox } = world;
  const now = world.time.now();
  for (const productType of account.productTypes) {
    const tables = after[productType];
    const commits = committed.of(productType);
    const find = (billId: string) => ledger.bill(productType, billId);
    const check = (promise: PromiseName, count: number, wrong: readonly string[]) =>
      verdicts.check(
        promise,
        count,
        wrong.map((what) => `${productType} ${what}`),
      );
    const { missing, different, uncommitted } = rowFaults(tables, commits, find);
    const { bills: rows, counted, spans } = tables;
    check("exact", rows.length, different);
    check("atomic pages", rows.length, [...missing, ...uncommitted]);
    check("one row a bill", rows.length, [
      ...commits.invented.map((id) => `${id} is in no ledger`),
      ...(counted === rows.length ? [] : [`${rows.length} bills are stored, ${counted} counted`]),
    ]);
    check("restatements", commits.replaced.size, revisionFaults(tables, commits, find));
    const untouched = before[productType].bills.length;
    check("twice is once", untouched, rewritten(before[productType], tables, commits.touched));
    const unkept = [...commits.rejected].filter((row) => !tables.rejected.includes(row));
    check(
      "nothing dropped",
      commits.rejected.size,
      unkept.map((row) => `${row} is not among the rejected rows`),
    );
    const checkStored = (promise: PromiseName, bills: readonly LedgerBill[], why: string) =>
      check(
        promise,
        bills.length,
        lostBills(bills, tables).map(
          ({ billId, cTime, visibleAt, broken }) =>
            `${billId} of ${timeText(cTime)}, served since ${timeText(visibleAt)}${broken ?? ""}, ${why} and is not stored`,
        ),
      );
    const bills = ledger.bills(productType);
    const isBehind = isBehindCursor(spans, now, tolerance);
    // Where ids do not follow times, the cursor of a filtered page leaves bills to the questions by time.
    const isJittered = world.history.ledger.idJitterMs > 0 || isUnified(productType);
    const isScattered = isJittered && isFiltered(world.history);
    if (!isOldestFirst(world.history) && !isScattered && world.history.healing === undefined)
      checkStored("atomic pages", bills.filter(isBehind), "lies behind a cursor");
    const claimed = isClaimed(commits, spans, settleLagMs, tolerance);
    const covered = bills.filter((bill) => claimed(bill) && isKnowable(world, productType, bill));
    checkStored("honest coverage", covered, "lies in covered time");
    const { count, wrong } = expiredFaults(world, before[productType], tables);
    check("lost", count, [...wrong, ...forgottenTime(commits, spans, tolerance)]);
    const recovered = recoveredFaults(world, productType, tables);
    check("recovered", recovered.count, recovered.wrong);
  }
  const { peaks, refusals } = sandbox.statistics();
  const most = new Map<string, number>(
    [
      ...billsOperations,
      accountSettings,
      ...Object.values(keyInfo),
      ...Object.values(balancesOperations),
      ...taxOperations,
    ].map(({ name, limit }) => [name, limit.requests]),
  );
  // Whose key it is that came under another name is known once it was asked something, beside a run of its user.
  const { steps, ledger: drawn } = world.history;
  const isBeside = steps.some(({ key, process }) => key === "twice" && process.length > 0);
  const unknown = isBeside ? drawn.productTypes.length : 0;
  // After a request whose delay is hidden, the next one may be one too many in a second, and so each other one of it.
  const early = world.hiddenDelays();
  const refusable = unknown + early * Math.max(...most.values());
  verdicts.check("within the limit", requestsForBills(sandbox), [
    ...peaks
      .filter(({ operation, requests }) => requests > (most.get(operation) ?? 0) + unknown + early)
      .map(({ operation, requests }) => `${requests} requests for ${operation} in a second`),
    ...((refusals["429"] ?? 0) > refusable ? [`${refusals["429"]} requests were too many`] : []),
  ]);
}

function expiredFaults(world: World, before: LedgerTables, after: LedgerTables) {
  const of = ({ spans }: LedgerTables) => spans.filter(({ state }) => state === "lost");
  const known = new Set(of(before).map(({ to }) => to));
  const found = of(after).filter(({ to }) => !known.has(to));
  const wrong = [
    ...overlaps(settledOf(after.spans)),
    ...expiredTooEarly(found, world.time.now(), world.tolerance.edgeMs),
  ];
  return { count: found.length, wrong };
}

/** Time that was once wanted, and is neither settled nor open any more. */
function forgottenTime(
  { wantedFrom }: CommittedLedger,
  spans: readonly Span[],
  { edgeMs }: Tolerance,
): readonly string[] {
  const oldest = Math.min(...spans.map(({ from }) => from));
  const isKnown =
    wantedFrom === Number.POSITIVE_INFINITY || oldest <= wantedFrom + slackMs + edgeMs;
  return isKnown ? [] : [`is known from ${oldest} on, and was wanted from ${wantedFrom} on`];
}

// How much of the time that the first sync wanted may have expired when it is resumed.
const slackMs = 2 * hourMs;

/** What a run reports. */
export function checkRun(world: World, run: Run, before: Tables, after: Tables): void {
  const { verdicts, account } = world;
  const { report, name } = run;
  if (report === undefined) throw new Error(`${name} did not end`);
  if (report === "killed") return;
  if (run.isForeign) {
    checkRefused(world, run, report);
    return;
  }
  const wrong: string[] = [];
  // A run that found lost time is not complete, but has read everything else.
  if (isComplete(report) || run.isFaultless) {
    for (const productType of account.productTypes) {
      if (modeOfType(productType) !== report.mode) continue;
      wrong.push(...falseSuccess(world, run, after[productType], productType));
    }
    if (run.isFaultless) checkServed(world, run, run.pages, "was served, and the run was complete");
  }
  if (!isComplete(report) && !saysWhy(report)) wrong.push("is not complete and does not say why");
  verdicts.check(
    "no false success",
    1,
    wrong.map((what) => `${name}: ${what}`),
  );
  checkMode(world, run, report);
  checkEnded(world, run, report, after);
  checkUnread(world, run, report, after);
  checkReached(world, run, report, after);
  if (run.isFaultless) {
    const errors = [report.error, ...report.ledgers.map(({ error }) => error)];
    const failed = errors.filter((error) => error !== undefined).map(String);
    const counts = report.ledgers.flatMap((ledger) => countFaults(before, after, ledger));
    verdicts.check(
      "faults pass",
      1,
      [...failed, ...counts].map((what) => `${name}: ${what}`),
    );
  }
}

/** A key that is another account's is refused, and nothing but a fault hides it. */
function checkRefused({ verdicts }: World, { name, key, isFaultless }: Run, report: AccountReport) {
  const { error } = report;
  const isRefused = isFaultless ? error instanceof UsageError : error !== undefined;
  verdicts.check("identity", 1, isRefused ? [] : [`${name} says ${error} of the key "${key}"`]);
}

const saysWhy = ({
  error,
  ended = [],
  ledgers,
  recovery = [],
}: Exclude<Run["report"], "killed" | undefined>): boolean =>
  error !== undefined ||
  ended.some(({ unread }) => unread.length > 0) ||
  recovery.some(
    (one) => one.error !== undefined || one.rejected + one.partlyRecovered.length > 0,
  ) ||
  ledgers.some(
    (ledger) => ledger.error !== undefined || ledger.rejected > 0 || ledger.lost.length > 0,
  );

function falseSuccess(
  world: World,
  { beganAt, endedAt, isOvertaken }: Run,
  tables: LedgerTables,
  productType: Parameters<World["ledger"]["bills"]>[0],
): readonly string[] {
  const { ledger, tolerance, history } = world;
  const { aheadMs, behindMs, edgeMs } = tolerance;
  const horizon = endedAt - retentionMs + edgeMs;
  // Where pages begin with the oldest bills, the newest are left to the next run: their time is not covered yet.
  const leftMs = isOldestFirst(history) ? settleLagMs : 0;
  const inReach = ledger
    .bills(productType)
    .filter(
      ({ cTime, visibleAt }) =>
        cTime >= horizon &&
        cTime < beganAt - behindMs - leftMs &&
        visibleAt <= beganAt &&
        visibleAt - cTime <= settleLagMs - aheadMs,
    );
  const knowable = inReach.filter((bill) => isKnowable(world, productType, bill));
  return [
    ...lostBills(knowable, tables).map(
      ({ billId, cTime }) => `${productType} ${billId} of ${timeText(cTime)} is missing`,
    ),
    // An open window may belong to a later run of the same step.
    ...holesBehind(isOvertaken ? settledOf(tables.spans) : tables.spans, {
      from: horizon,
      to: beganAt - settleLagMs - behindMs,
    }).map((hole) => `${productType} ${hole}`),
  ];
}

/** If nothing went wrong, the counts of a report equal the changes of the tables. */
function countFaults(
  before: Tables,
  after: Tables,
  { ledger: { productType }, new: inserted, windowsPlanned, windowsRead }: LedgerReport,
): readonly string[] {
  const ofPages = ({ bills }: LedgerTables) => bills.filter(({ source }) => source === null).length;
  const added = ofPages(after[productType]) - ofPages(before[productType]);
  return [
    ...(inserted === added ? [] : [`${productType}: says ${inserted} new, ${added} are`]),
    ...(windowsRead === windowsPlanned
      ? []
      : [`${productType}: read ${windowsRead} of ${windowsPlanned} windows`]),
  ];
}
