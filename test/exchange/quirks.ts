import { Refusal } from "../../src/core/server/answer.ts";
import { illegalTimeRange } from "../../src/core/server/request.ts";
import { epochMs } from "../../src/lib/time.ts";
import type { BillsRequest, Source, WirePage } from "../../src/wings/sandbox/exchange/source.ts";
import { integer, type Random, seededRandom } from "../../src/wings/sandbox/random.ts";
import { shuffled } from "../support/shuffled.ts";

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
  readonly paging?: Paging;
  /** The order inside a page. endId is the oldest row's in any order. Default newest-first. */
  readonly pageOrder?: "newest-first" | "oldest-first" | "shuffled";
};

/** Pagings that nobody has documented, and of which each lost bills in silence once. */
export type Paging =
  /**
   * Pages are filtered after they were cut: some are short or empty, and their endId is of a row that is not shown.
   * `null`: an empty one has no list.
   */
  | { readonly kind: "filtered"; readonly empty: "list" | "null" }
  /** Where a start and no cursor is sent, pages begin with the oldest bills. */
  | { readonly kind: "oldest-first" }
  /** After so many requests, pages have at most this many bills. */
  | { readonly kind: "shrinking"; readonly after: number; readonly rows: number };

type PastHorizon = "trim" | "refuse" | "serve";

/** A sandbox's source whose pages have these quirks. */
export const quirky =
  (quirks: Quirks, random: Random = seededRandom("quirks")) =>
  (plain: Source): Source => {
    const source = paged(plain, quirks.paging, random);
    return {
      ...source,
      async bills(request) {
        const { startTime = Number.POSITIVE_INFINITY, horizon = 0 } = request;
        if (quirks.pastHorizon === "refuse" && startTime < horizon) return illegalTimeRange();
        const asked = quirkyRequest(request, quirks, random);
        const page = await source.bills(asked);
        if (page instanceof Refusal) return page;
        const rows = page.bills ?? [];
        if (rows.length === 0) return page.endId ? page : lastPage([], quirks, request.idLessThan);
        const bills = inOrder(rows, quirks, random);
        if (!quirks.shortLastPage) return { ...page, bills };
        const next = await source.bills({
          ...asked,
          idLessThan: page.endId ?? undefined,
          limit: 1,
        });
        const isLast = next instanceof Refusal || (next.bills ?? []).length === 0;
        return isLast ? lastPage(bills, quirks, undefined) : { ...page, bills };
      },
    };
  };

/** Whether a cursor leads further, be it included or not. */
const isBelow = (endId: string, { idLessThan }: BillsRequest): boolean =>
  idLessThan === undefined || BigInt(endId) + 1n < BigInt(idLessThan);

/** A source whose pages are cut in this way. */
function paged(source: Source, paging: Paging | undefined, random: Random): Source {
  let requests = 0;
  switch (paging?.kind) {
    case undefined:
      return source;
    case "filtered":
      return {
        ...source,
        async bills(request) {
          if (random() < 0.6) return source.bills(request);
          const shown = random() < 0.5 ? 0 : integer(random, 0, 5);
          const page = await source.bills({
            ...request,
            limit: Math.min(shown + 1, request.limit),
          });
          const next = page instanceof Refusal ? undefined : page.bills?.[shown];
          if (page instanceof Refusal || next === undefined) return page;
          const { billId, id = billId } = Object(next);
          // The row that is not shown lies right above the next one.
          const endId = typeof id === "string" ? String(BigInt(id) + 1n) : undefined;
          if (endId === undefined || !isBelow(endId, request)) return source.bills(request);
          const bills = page.bills?.slice(0, shown) ?? [];
          return { bills: bills.length === 0 && paging.empty === "null" ? null : bills, endId };
        },
      };
    case "oldest-first":
      return {
        ...source,
        async bills(request) {
          if (request.startTime === undefined || request.idLessThan !== undefined)
            return source.bills(request);
          const page = await source.bills({ ...request, limit: Number.MAX_SAFE_INTEGER });
          return page instanceof Refusal
            ? page
            : { ...page, bills: page.bills?.slice(-request.limit) ?? [] };
        },
      };
    case "shrinking":
      return {
        ...source,
        bills(request) {
          requests += 1;
          const most = requests > paging.after ? paging.rows : request.limit;
          return source.bills({ ...request, limit: Math.min(request.limit, most) });
        },
      };
    default:
      return paging satisfies never;
  }
}

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
