import type { StreamStatus } from "../../reports/status.ts";
import { lengthMs, union } from "../../sync/intervals.ts";
import {
  behindMsOf,
  type Facts,
  isLive,
  isReconciled,
  lostOf,
  missingOf,
  openBreaksOf,
  readableOf,
  signedOffOf,
} from "./facts.ts";
import { behindMaxMs, type Trust } from "./headline.ts";
import { isBesideLost, type Remedy, remedyOf, severityOf } from "./remedy.ts";

/** What the facts say about how far the ledgers can be trusted. */
export function trustOf(facts: Facts): Trust {
  const { streams, demoStreams, neverRead, now, reconciled } = facts;
  const open = openBreaksOf(facts);
  const breaksWith = (remedy: Remedy) => open.filter((entry) => remedyOf(entry, facts) === remedy);
  const behindOf = (stream: StreamStatus) => behindMsOf(stream, now);
  const live = streams.filter(isLive);
  const paused = live.filter(
    (stream) =>
      stream.pausedAt !== undefined &&
      (readableOf(stream).length > 0 || behindOf(stream) > behindMaxMs),
  );
  const outdatedBreaks = breaksWith("check").length;
  return {
    ledgers: streams.length,
    demoLedgers: demoStreams.length,
    isSyncAtWork: facts.isSyncAtWork,
    openBreaks:
      reconciled.lastRunAt === undefined && facts.breaks.length === 0 ? undefined : open.length,
    badBreaks: open.filter((entry) => severityOf(entry, facts) === "bad").length,
    lostBreaks: open.filter((entry) => isBesideLost(entry, facts)).length,
    restatements: open.filter(({ kind }) => kind === "restatement").length,
    signedOffBreaks: signedOffOf(facts).length,
    repairableBreaks: breaksWith("repair").length,
    lastingBreaks: breaksWith("sign off").map(({ breakId }) => breakId),
    lostMs: lengthMs(union(streams.flatMap(lostOf))),
    missingMs: lengthMs(union(streams.flatMap(missingOf))),
    readableMs: lengthMs(union(streams.flatMap(readableOf))),
    neverRead: neverRead.reduce((sum, { productTypes }) => sum + productTypes.length, 0),
    behindMs: live.map(behindOf).reduce((most, each) => Math.max(most, each), 0),
    paused: [...new Set(paused.map(({ stream }) => stream.account))],
    rejectedRows: streams.reduce((sum, { rejected }) => sum + rejected, 0),
    outdatedBreaks,
    isReconciled: isReconciled(facts) && outdatedBreaks === 0,
  };
}
