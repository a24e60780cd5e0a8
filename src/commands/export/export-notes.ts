import type { EpochMs } from "../../contract/time.ts";
import { formatMinute } from "../../output/format.ts";
import { streamName } from "../../output/stream-names.ts";
import type { Stream } from "../../sync/store.ts";

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
