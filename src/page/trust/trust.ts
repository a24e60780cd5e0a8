import type { StreamStatus } from "../../reports/status.ts";
import { lengthMs, union } from "../../sync/intervals.ts";
import {
  behindMsOf,
  type Facts,
  isLive,
  isNotice,
  isReconciled,
  lostOf,
  missingOf,
  openBreaksOf,
  readableOf,
  signedOffOf,
} from "./facts.ts";
import { behindMaxMs, type Trust } from "./headline.ts";
import { type Remedy, remedyOf } from "./remedy.ts";

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
  return {
    ledgers: streams.length,
    demoLedgers: demoStreams.length,
    isSyncAtWork: facts.isSyncAtWork,
    openBreaks:
      reconciled.lastRunAt === undefined && facts.breaks.length === 0 ? undefined : open.length,
    unreadBreaks: open.filter(({ kind }) => kind === "unread").length,
    signedOffBreaks: signedOffOf(facts).length,
    notices: open.filter(isNotice).length,
    repairableBreaks: breaksWith("repair").length,
    lastingBreaks: breaksWith("sign off").map(({ breakId }) => breakId),
    lostMs: lengthMs(union(streams.flatMap(lostOf))),
    missingMs: lengthMs(union(streams.flatMap(missingOf))),
    readableMs: lengthMs(union(streams.flatMap(readableOf))),
    neverRead: neverRead.reduce((sum, { productTypes }) => sum + productTypes.length, 0),
    behindMs: live.map(behindOf).reduce((most, each) => Math.max(most, each), 0),
    paused: [...new Set(paused.map(({ stream }) => stream.account))],
    rejectedRows: streams.reduce((sum, { rejected }) => sum + rejected, 0),
    isReconciled: isReconciled(facts),
  };
}
