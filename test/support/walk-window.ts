import { PageLengths } from "../../src/core/sync/walk/answers.ts";
import { type WalkedLedger, WindowWalk } from "../../src/core/sync/walk/walk.ts";
import type { PlannedWindow } from "../../src/core/words/ledger.ts";
import type { PageCommit } from "../../src/core/words/page.ts";

export type WalkDeps = Omit<
  WalkedLedger,
  "ledger" | "pageLengths" | "expectedBills" | "pause" | "tell"
> &
  Partial<Pick<WalkedLedger, "pageLengths" | "pause" | "tell">> & {
    readonly commitPage: (page: PageCommit) => Promise<void>;
    readonly partsWanted?: (pagesLeft: number) => number;
    /** Called with each window that the walk hands back. */
    readonly begin?: (part: PlannedWindow) => void;
  };

/** Walks a window of an exchange that answers so, as a run does. */
export async function walkWindow(
  { commitPage, partsWanted = () => 1, begin, ...run }: WalkDeps,
  ledger: WalkedLedger["ledger"],
  window: PlannedWindow,
): Promise<void> {
  const nothing = {
    expectedBills: new Map(),
    pause: async () => undefined,
    tell: () => undefined,
  };
  const walked = { ...nothing, pageLengths: new PageLengths(), ...run, ledger };
  const { signal } = new AbortController();
  const walk = new WindowWalk(walked, window, { signal, partsWanted });
  while (!walk.isOver) {
    const page = walk.check(await walk.ask());
    if (page !== undefined) await commitPage(page);
    walk.throwIfContradicted();
    for (const part of walk.handedBack) begin?.(part);
  }
}
