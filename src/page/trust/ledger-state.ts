import type { StreamStatus } from "../../reports/status.ts";
import { formatCount, formatCounted } from "../../terminal/format.ts";
import type { Icon } from "../icons.ts";
import {
  behindMsOf,
  type Facts,
  isLive,
  isNotice,
  lostOf,
  missingOf,
  openBreaksOf,
  walletNameOf,
} from "./facts.ts";
import { behindMaxMs } from "./headline.ts";

/** The worst that is known of a ledger. */
export type LedgerState = { readonly tone: Icon; readonly text: string };

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
      return { stream, state: stateOf(stream, breaks, facts) };
    })
    .toSorted((a, b) => tones.indexOf(a.state.tone) - tones.indexOf(b.state.tone));
}

function stateOf(
  stream: StreamStatus,
  open: ReturnType<typeof openBreaksOf>,
  { isSyncAtWork, now }: Facts,
): LedgerState {
  // A hole explains the breaks beside it.
  const unexplained = open.filter((entry) => entry.kind !== "unread" && !isNotice(entry)).length;
  const isMissing = missingOf(stream).length > 0;
  const { rejected, retiredAt, closedAt } = stream;
  if (isMissing && isSyncAtWork && isLive(stream)) return { tone: "work", text: "reading" };
  if (unexplained > 0) return { tone: "bad", text: formatCounted(unexplained, "break") };
  if (lostOf(stream).length > 0) return { tone: "bad", text: "lost" };
  if (isMissing) return { tone: "warn", text: "not all read" };
  if (!open.every(isNotice)) return { tone: "bad", text: formatCounted(open.length, "break") };
  if (isLive(stream) && behindMsOf(stream, now) > behindMaxMs && !isSyncAtWork) {
    return { tone: "warn", text: "behind" };
  }
  if (rejected > 0) return { tone: "warn", text: `${formatCount(rejected)} rejected` };
  if (open.length > 0) return { tone: "warn", text: "bills changed" };
  if (retiredAt !== undefined) return { tone: "none", text: "retired" };
  if (closedAt !== undefined) return { tone: "none", text: "closed" };
  return { tone: "good", text: "all read" };
}
