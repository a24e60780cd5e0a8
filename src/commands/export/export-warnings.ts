import type { EpochMs } from "../../contract/time.ts";
import type { ExportedTime } from "../../export/completeness.ts";
import type { RejectedCount } from "../../reports/count-rejected.ts";
import type { Stream } from "../../sync/store.ts";
import { formatCounted, formatInterval, formatMinute } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";

const holesShownMax = 5;

/** A line for each thing that the export may lack. */
export function exportWarnings({
  missing,
  times,
  quarantined,
  unreconciled,
}: {
  /** Names as account/product type, or accounts of which nothing is stored. */
  readonly missing: readonly string[];
  readonly times: readonly ExportedTime[];
  readonly quarantined: readonly RejectedCount[];
  readonly unreconciled: readonly Stream[];
}): readonly string[] {
  return [
    ...missing.map((name) => `${name}: no sync of it is on record`),
    ...times.flatMap(holesOf),
    ...quarantined.map(
      (stream) =>
        `${streamName(stream)}: ${formatCounted(stream.rows, "row")} in rejected_bills broke the API's ` +
        "contract and cannot be exported",
    ),
    ...unreconciled.map(
      (stream) =>
        `${streamName(stream)}: no reconcile has checked the newest bills yet; until then, some ` +
        "balances may seem wrong",
    ),
  ];
}

function holesOf({ stream, holes }: ExportedTime): readonly string[] {
  const name = streamName(stream);
  const rest = holes.length - holesShownMax;
  return [
    ...holes
      .slice(0, holesShownMax)
      .map((hole) => `${name}: bills may be missing, ${formatInterval(hole)}`),
    ...(rest > 0 ? [`${name}: and at ${formatCounted(rest, "other time")}; see status`] : []),
  ];
}

/** Lines that describe the export, other than what it may lack. */
export function exportNotes({
  leftOut,
  through,
  next,
}: {
  /** Ledgers of demo trading that are left out. */
  readonly leftOut: readonly Stream[];
  /** The end of each ledger, if no end was asked for. */
  readonly through: readonly EpochMs[];
  /** When the next increment begins, if an increment was asked for. */
  readonly next: string | undefined;
}): readonly string[] {
  const [first, ...others] = [...new Set(through.toSorted((a, b) => a - b).map(formatMinute))];
  const last = others.at(-1);
  const end =
    last === undefined
      ? `ends at ${first}, up to which everything was read`
      : `each ledger ends where everything was read, from ${first} to ${last}`;
  return [
    ...(leftOut.length === 0
      ? []
      : [
          `left out because it is demo trading: ${leftOut.map(streamName).join(", ")}; --demo includes it`,
        ]),
    ...(first === undefined ? [] : [`${end}; --to includes newer bills`]),
    ...(next === undefined ? [] : [`to export what changes after this: --changed-since ${next}`]),
  ];
}
