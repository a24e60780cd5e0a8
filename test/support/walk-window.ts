import type { BillsQuestion } from "../../src/core/contract/bills-api.ts";
import type { FetchedPage } from "../../src/core/sync/ledger-reader.ts";
import { type LedgerDeps, LedgerRun } from "../../src/core/sync/ledger-run.ts";
import type { PageLengths } from "../../src/core/sync/walk/answers.ts";
import type { PageRequest } from "../../src/core/sync/walk/pages.ts";
import { WindowWalk } from "../../src/core/sync/walk/walk.ts";
import type { Ledger, PlannedWindow } from "../../src/core/words/ledger.ts";
import type { PageCommit } from "../../src/core/words/page.ts";
import type { EpochMs } from "../../src/lib/time.ts";

export type WalkDeps = Pick<LedgerDeps, "exchangeNow" | "settleLagMs"> & {
  readonly ask: (request: () => PageRequest) => Promise<FetchedPage>;
  readonly commitPage: (page: PageCommit) => Promise<void>;
  readonly plannedAt: EpochMs;
  readonly pageLengths?: PageLengths;
  readonly pause?: () => Promise<void>;
  readonly tell?: (what: string) => void;
  readonly partsWanted?: (pagesLeft: number) => number;
  /** Called with each window that the walk hands back. */
  readonly begin?: (part: PlannedWindow) => void;
};

/** A ledger whose pages come from a function. */
class AnsweredLedger extends LedgerRun {
  readonly #deps: WalkDeps;

  constructor(deps: WalkDeps, { signal }: AbortController, ledger: Ledger) {
    const never = () => {
      throw new Error("a walk asks and commits through the test");
    };
    super(
      {
        ...{
          client: { ask: never },
          leased: { store: { unstored: never, commitPage: never }, assertHeld: never },
        },
        ...{ exchangeNow: deps.exchangeNow, settleLagMs: deps.settleLagMs, signal },
        ...{
          sleep: deps.pause ?? (async () => undefined),
          onProgress: (told) => told.event === "doubted" && deps.tell?.(told.what),
        },
      },
      ledger,
      deps.pageLengths,
    );
    this.#deps = deps;
  }

  override get plannedAt(): EpochMs {
    return this.#deps.plannedAt;
  }

  override ask(question: () => BillsQuestion): Promise<FetchedPage> {
    return this.#deps.ask(question as () => PageRequest);
  }
}

/** Walks a window of an exchange that answers so, as a run does. */
export async function walkWindow(
  deps: WalkDeps,
  ledger: Ledger,
  window: PlannedWindow,
): Promise<void> {
  const { commitPage, partsWanted = () => 1, begin } = deps;
  const stop = new AbortController();
  const run = new AnsweredLedger(deps, stop, ledger);
  const walk = new WindowWalk(run, window, { signal: stop.signal, partsWanted });
  while (!walk.isOver) {
    const page = walk.check(await walk.ask());
    if (page !== undefined) await commitPage(page);
    walk.throwIfContradicted();
    for (const part of walk.handedBack) begin?.(part);
  }
}
