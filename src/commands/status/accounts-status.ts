import type { EpochMs } from "../../contract/time.ts";
import type { AccountStatus, StreamStatus } from "../../health/ledger-status.ts";
import { closedLines, notAvailableLines } from "../../output/account-remarks.ts";
import { printableLine } from "../../printable.ts";
import { jsonTime, jsonTimeOrNull } from "../json-times.ts";

// Status of accounts: their modes, what their keys may not read, and closed streams.

export const closedRemarks = (streams: readonly StreamStatus[], now: EpochMs): readonly string[] =>
  closedLines(
    streams.flatMap(({ stream, closedAt, completeThrough: through, closedUnread: unread }) =>
      closedAt === undefined ? [] : [{ stream, closedAt, through, unread }],
    ),
    now,
  );

export const accountRemarks = ({
  account,
  mode,
  notAvailable,
}: AccountStatus): readonly string[] => [
  ...(mode?.is === "unified" ? [`${printableLine(account)}: a unified account`] : []),
  ...notAvailableLines(account, notAvailable),
];

/** The accounts' status for programs. */
export const accountsJson = (accounts: readonly AccountStatus[]): readonly object[] =>
  accounts.map(({ account, mode, notAvailable }) => ({
    account,
    mode: mode?.is ?? null,
    modeSince: jsonTimeOrNull(mode?.since),
    notAvailable: notAvailable.map(({ productType, since, askedAt, reason }) => ({
      productType,
      since: jsonTime(since),
      askedAt: jsonTime(askedAt),
      reason,
    })),
  }));
