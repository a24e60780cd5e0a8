import type { AccountReport } from "../../src/core/sync/account-report.ts";
import { isComplete } from "../../src/core/sync/account-report.ts";
import { intersect, interval } from "../../src/core/words/intervals.ts";
import { horizonAt } from "../../src/core/words/plan.ts";
import { modeOfType } from "./account.ts";
import type { Write } from "./committed.ts";
import type { Run } from "./sync.ts";
import type { Tables } from "./tables.ts";
import { seams, timeText, wantedOf } from "./time-checks.ts";
import type { World } from "./world.ts";

/** A run that begins and ends while the account changes its mode writes nothing. */
export function checkTransit({ account, verdicts, time }: World, run: Run, write: Write): void {
  const isInTransit = [run.beganAt, time.now()].every((at) => account.modeAt(at) === undefined);
  const what = `${run.name} committed a ${write.kind} while the account was in transit`;
  verdicts.check("mode", 1, isInTransit ? [what] : []);
}

/**
 * The mode that a run reports was the account's mode during the run. A run without a mode is not
 * complete.
 */
export function checkMode(
  { account, verdicts }: World,
  { name, beganAt, endedAt }: Run,
  report: AccountReport,
): void {
  const { mode } = report;
  const times = [beganAt, ...account.changes.map(({ at }) => at)].filter(
    (time) => time >= beganAt && time <= endedAt,
  );
  const isTrue = times.some((time) => account.modeAt(time) === mode);
  verdicts.check("mode", 1, [
    ...(isComplete(report) && mode === undefined ? [`${name}: is complete, in no mode`] : []),
    ...(mode !== undefined && !isTrue ? [`${name}: says ${mode}, which it was not`] : []),
  ]);
}

/**
 * What a run reports of the ledgers that it ended: when, and which time was not read. Together
 * with the time that was settled before, this is all the time since the oldest that was wanted.
 */
export function checkUnread(
  { verdicts, tolerance }: World,
  { name, beganAt, endedAt, isOvertaken }: Run,
  { ended = [] }: AccountReport,
  after: Tables,
): void {
  const { aheadMs, behindMs } = tolerance;
  const wrong = ended.flatMap(({ ledger: { productType }, endedAt: at, unread }) => {
    const isNow = at >= beganAt - behindMs && at <= endedAt + aheadMs;
    const { spans } = after[productType];
    // Where the exchange refused the oldest time, all that is settled may be newer than 90 days, or recovered.
    const oldest = Math.min(horizonAt(at), ...wantedOf(spans).map(({ from }) => from));
    const settled = intersect(
      spans.filter(({ state }) => state !== "open"),
      interval(oldest, Number.POSITIVE_INFINITY),
    );
    const times = [...unread, ...settled];
    const from = Math.min(...times.map((time) => time.from));
    const to = Math.max(...times.map((time) => time.to));
    return [
      ...(isNow ? [] : [`ended at ${timeText(at)}`]),
      ...(isOvertaken ? [] : seams(times)),
      ...(from === oldest && to === at
        ? []
        : [`tells its time from ${timeText(from)} to ${timeText(to)}`]),
    ].map((what) => `${name}: ${productType} ${what}`);
  });
  verdicts.check("mode", ended.length, wrong);
}

/**
 * After a run that learned the mode, the ledgers of the other mode end, and those of this
 * mode are not.
 */
export function checkEnded(
  { account, verdicts, time }: World,
  { name, beganAt, isOvertaken }: Run,
  report: AccountReport,
  after: Tables,
): void {
  const isWhole = isComplete({ ...report, ended: [] });
  if (!isWhole || isOvertaken || !account.isSteady(beganAt, time.now())) return;
  const wrong = account.productTypes.flatMap((productType) => {
    const { isEnded, spans } = after[productType];
    const isOther = modeOfType(productType) !== report.mode;
    if (isEnded && !isOther) return [`${name}: ${productType} is read, and stays ended`];
    const isForgotten = isOther && !isEnded && spans.length > 0;
    return isForgotten ? [`${name}: ${productType} cannot be read, and has not ended`] : [];
  });
  verdicts.check("mode", account.productTypes.length, wrong);
}
