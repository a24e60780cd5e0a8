import { epochMs } from "../../src/contract/time.ts";
import {
  type BillsRequest,
  illegalTimeRange,
  Refusal,
  type Source,
  type WirePage,
} from "../../src/exchange-server/source.ts";
import { integer, type Random, seededRandom, shuffled } from "../../src/sandbox/random.ts";

/** Behaviours that the API's documentation leaves open. The real exchange may show any of them. */
export type Quirks = {
  /** Which of startTime and endTime include their own millisecond. Default both. */
  readonly bounds?: "both" | "start" | "end" | "neither";
  /** The form of an empty page. Default `{"bills":[],"endId":""}`. */
  readonly lastPage?: "empty-string" | "null-id" | "no-id" | "null-bills" | "same-id";
  /** Whether the last page with bills lacks an endId. Default false. */
  readonly shortLastPage?: boolean;
  /** Whether any page may have fewer bills than requested. Default false. */
  readonly shortPages?: boolean;
  /** The most bills on a page, whatever is requested. Default as many as requested. */
  readonly pageRows?: number;
  /**
   * What decides which bills are on a page. It makes no difference where ids rise with times.
   * Default time; id in a unified account, whose ids do not rise with its times.
   */
  readonly sortedBy?: "time" | "id";
  /** Whether idLessThan, or the cursor of v3, includes the bill of that id. Default false. */
  readonly inclusiveCursor?: boolean;
  /**
   * How a startTime older than 90 days is treated: `trim`, as by default, serves the part of the span that is not
   * older, `refuse` refuses the request, `serve` serves all, as an exchange would that forgets later than it says.
   */
  readonly pastHorizon?: PastHorizon;
  /** The order inside a page. endId is the oldest row's in any order. Default newest-first. */
  readonly pageOrder?: "newest-first" | "oldest-first" | "shuffled";
};

export type PastHorizon = "trim" | "refuse" | "serve";

/** A sandbox's source whose pages have these quirks. */
export const quirky =
  (quirks: Quirks, random: Random = seededRandom("quirks")) =>
  (source: Source): Source => ({
    ...source,
    async bills(request) {
      const { startTime = Number.POSITIVE_INFINITY, horizon = 0 } = request;
      if (quirks.pastHorizon === "refuse" && startTime < horizon) return illegalTimeRange();
      const asked = quirkyRequest(request, quirks, random);
      const page = await source.bills(asked);
      if (page instanceof Refusal) return page;
      const rows = page.bills ?? [];
      if (rows.length === 0) return lastPage([], quirks, request.idLessThan);
      const bills = inOrder(rows, quirks, random);
      if (!quirks.shortLastPage) return { ...page, bills };
      const next = await source.bills({ ...asked, idLessThan: page.endId ?? undefined, limit: 1 });
      const isLast = next instanceof Refusal || (next.bills ?? []).length === 0;
      return isLast ? lastPage(bills, quirks, undefined) : { ...page, bills };
    },
  });

function quirkyRequest(request: BillsRequest, quirks: Quirks, random: Random): BillsRequest {
  const { bounds = "both", pageRows = request.limit, sortedBy = request.sortedBy } = quirks;
  const { startTime, endTime, idLessThan } = request;
  const most = Math.min(request.limit, pageRows);
  const isInclusive = quirks.inclusiveCursor && /^\d{1,20}$/.test(idLessThan ?? "");
  return {
    ...request,
    sortedBy,
    horizon: quirks.pastHorizon === "serve" ? undefined : request.horizon,
    limit: quirks.shortPages ? integer(random, Math.ceil(most / 4), most) : most,
    idLessThan: isInclusive ? String(BigInt(idLessThan ?? "") + 1n) : idLessThan,
    startTime: startTime && epochMs(startTime + (/both|start/.test(bounds) ? 0 : 1)),
    endTime: endTime && epochMs(endTime - (/both|end/.test(bounds) ? 0 : 1)),
  };
}

function inOrder(rows: readonly unknown[], { pageOrder }: Quirks, random: Random) {
  switch (pageOrder) {
    case undefined:
    case "newest-first":
      return rows;
    case "oldest-first":
      return rows.toReversed();
    case "shuffled":
      return shuffled(random, rows);
    default:
      return pageOrder satisfies never;
  }
}

function lastPage(
  bills: readonly unknown[],
  { lastPage: shape }: Quirks,
  cursor: string | undefined,
): WirePage {
  switch (shape) {
    case undefined:
    case "empty-string":
      return { bills, endId: "" };
    case "null-id":
      return { bills, endId: null };
    case "no-id":
      return { bills };
    case "same-id":
      return { bills, endId: cursor ?? "" };
    case "null-bills":
      return { bills: bills.length === 0 ? null : bills, endId: null };
    default:
      return shape satisfies never;
  }
}
