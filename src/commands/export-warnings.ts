import type { Uncovered } from "../export/completeness.ts";
import type { Quarantined } from "../reports/quarantine.ts";
import { formatCounted, formatInterval, formatMinute } from "../terminal/format.ts";
import { streamName } from "../terminal/stream-names.ts";

const holesShownMax = 5;

/** What an export may lack, one line each. */
export function exportWarnings({
  missing,
  uncovered,
  quarantined,
}: {
  /** Account and product type, or an account of which nothing is stored. */
  readonly missing: readonly string[];
  readonly uncovered: readonly Uncovered[];
  readonly quarantined: readonly Quarantined[];
}): readonly string[] {
  return [
    ...missing.map((name) => `${name}: no sync of it is on record`),
    ...uncovered.flatMap(holesOf),
    ...openEnd(uncovered),
    ...quarantined.map(
      (stream) =>
        `${streamName(stream)}: ${formatCounted(stream.rows, "row")} in rejected_bills broke the API's ` +
        "contract and cannot be exported",
    ),
  ];
}

function holesOf({ stream, holes }: Uncovered): readonly string[] {
  const name = streamName(stream);
  const rest = holes.length - holesShownMax;
  return [
    ...holes
      .slice(0, holesShownMax)
      .map((hole) => `${name}: bills may be missing, ${formatInterval(hole)}`),
    ...(rest > 0 ? [`${name}: and at ${formatCounted(rest, "other time")}; see status`] : []),
  ];
}

/** One line for all streams: after every sync the newest minutes are to be read again. */
function openEnd(uncovered: readonly Uncovered[]): readonly string[] {
  const [first] = uncovered
    .map(({ openFrom }) => openFrom)
    .filter((time) => time !== undefined)
    .toSorted((a, b) => a - b);
  if (first === undefined) return [];
  return [`bills after ${formatMinute(first)} may be missing; --to leaves them out`];
}
