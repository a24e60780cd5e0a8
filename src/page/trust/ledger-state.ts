import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { ListedBreak } from "../../reconciliation/sign-off.ts";
import type { StreamStatus } from "../../reports/status.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import type { Icon } from "../icons.ts";
import {
  behindMsOf,
  type Facts,
  isLive,
  lostOf,
  missingOf,
  openBreaksOf,
  walletNameOf,
} from "./facts.ts";
import { behindMaxMs } from "./headline.ts";
import { isUnexplained, remedyOf, severityOf } from "./remedy.ts";

/** The worst that is known of a ledger, and where it does not add up. */
export type LedgerState = {
  readonly tone: Icon;
  readonly text: string;
  /** The times of the breaks that neither unread nor lost time explains. */
  readonly breaks: readonly EpochMs[];
};

type Worst = Pick<LedgerState, "tone" | "text">;

/** Worst first. */
const tones: readonly Icon[] = ["bad", "warn", "work", "none", "good"];

/** The state of each ledger, worst first. Ledgers of equal states keep their order. */
export function worstFirst(
  streams: readonly StreamStatus[],
  facts: Facts,
): readonly { readonly stream: StreamStatus; readonly state: LedgerState }[] {
  const open = Map.groupBy(openBreaksOf(facts), ({ account }) => account);
  return streams
    .map((stream) => {
      const own = open.get(stream.stream.account) ?? [];
      const names = [stream.stream.productType, walletNameOf(stream)];
      const breaks = own.filter(({ productType }) => names.includes(productType));
      const times = timesOf(breaks.filter((entry) => isUnexplained(entry, facts)));
      return { stream, state: { ...stateOf(stream, breaks, facts), breaks: times } };
    })
    .toSorted((a, b) => tones.indexOf(a.state.tone) - tones.indexOf(b.state.tone));
}

const timesOf = (breaks: readonly ListedBreak[]): readonly EpochMs[] =>
  breaks.flatMap(({ happenedAt }) => (happenedAt === null ? [] : epochMs(Date.parse(happenedAt))));

function stateOf(stream: StreamStatus, open: readonly ListedBreak[], facts: Facts): Worst {
  const { isSyncAtWork, now } = facts;
  const severe = open.filter((entry) => severityOf(entry, facts) === "bad");
  const own = severe.filter((entry) => isUnexplained(entry, facts)).length;
  const isMissing = missingOf(stream).length > 0;
  const { rejected, retiredAt, closedAt } = stream;
  if (isMissing && isSyncAtWork && isLive(stream)) return { tone: "work", text: "reading" };
  if (own > 0) return { tone: "bad", text: formatCounted(own, "break") };
  if (lostOf(stream).length > 0) return { tone: "bad", text: "lost" };
  if (isMissing) return { tone: "warn", text: "not all read" };
  if (severe.length > 0) return { tone: "bad", text: formatCounted(severe.length, "break") };
  if (isLive(stream) && behindMsOf(stream, now) > behindMaxMs && !isSyncAtWork) {
    return { tone: "warn", text: "behind" };
  }
  if (rejected > 0) return { tone: "warn", text: `${formatCount(rejected)} rejected` };
  if (open.some((entry) => remedyOf(entry, facts) === "check")) {
    return { tone: "warn", text: "check again" };
  }
  if (open.length > 0) return { tone: "warn", text: "bills changed" };
  if (retiredAt !== undefined) return { tone: "none", text: "retired" };
  if (closedAt !== undefined) return { tone: "none", text: "closed" };
  return { tone: "good", text: "all read" };
}
