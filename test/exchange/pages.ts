import { isUnified } from "../../src/core/contract/product-types.ts";
import { Refusal } from "../../src/core/server/answer.ts";
import { epochMs, hourMs, retentionMs, unifiedIntervalMaxMs } from "../../src/lib/time.ts";
import type { BillsRequest, Source, WirePage } from "../../src/wings/sandbox/exchange/source.ts";
import type { Meeting, ScheduledFault } from "./kinds.ts";

/** A page with bills, and the cursor for the page after it. */
type FullPage = { readonly bills: readonly unknown[]; readonly endId: string };

// More walks than a busy sandbox has at once, and more pages than any fault goes back.
const walksMax = 1_000;
const cursorsMax = 10;

/** A source that falsifies pages where a fault says so. */
export function spoilPages(
  source: Source,
  meeting: () => Meeting | undefined,
  onFault: (fault: ScheduledFault, request: number) => void,
): Source {
  const cursorsOf = rememberedCursors();
  return {
    ...source,
    async bills(request) {
      const cursors = cursorsOf(request);
      const { request: number, faults } = meeting() ?? { request: 0, faults: [] };
      let page = await source.bills(request);
      for (const fault of faults) {
        const spoiled = await spoiledPage(source, { request, cursors, page }, fault);
        if (spoiled === undefined) continue;
        onFault(fault, number);
        page = spoiled;
      }
      return page;
    },
  };
}

type Served = {
  readonly request: BillsRequest;
  /** The cursors of this walk's requests, the current one last. */
  readonly cursors: readonly (string | undefined)[];
  readonly page: WirePage | Refusal;
};

/** The false page; undefined if the fault cannot apply here. */
async function spoiledPage(
  source: Source,
  { request, cursors, page }: Served,
  fault: ScheduledFault,
): Promise<WirePage | Refusal | undefined> {
  if (fault.kind === "edge-refuses") return refusedPastEdge(request, fault.laterMs);
  if (fault.kind === "edge-trims")
    return source.bills({ ...request, horizon: laterEdge(request, fault.laterMs) });
  if (!isFull(page)) return undefined;
  const withEndId = (endId: string | undefined) =>
    endId === undefined ? undefined : { ...page, endId };
  switch (fault.kind) {
    case "page-again":
      return cursors.length < 2
        ? undefined
        : source.bills({ ...request, idLessThan: cursors.at(-2) });
    case "page-skipped":
      return fullOrNone(await source.bills({ ...request, idLessThan: page.endId }));
    case "page-of-another-time":
      return (
        (await pageOfAnotherTime(source, request, fault.olderMs)) ??
        (await pageOfAnotherTime(source, request, -fault.olderMs))
      );
    case "rows-reordered":
      return { ...page, bills: reordered(page.bills, fault.order) };
    case "end-id-repeats":
      return withEndId(request.idLessThan);
    case "end-id-cycles":
      return withEndId(cursors.at(-1 - fault.pagesBack));
    case "end-id-foreign":
      // Without an id, a row might be the one that the endId means.
      return withEndId(page.bills.every(hasId) ? muchOlder(page.endId) : undefined);
    case "end-id-null":
      return { ...page, endId: null };
    case "false-end":
      return { bills: [], endId: "" };
    case "end-id-newest":
      return withEndId(newestId(page.bills));
    default:
      return undefined;
  }
}

const isFull = (page: WirePage | Refusal): page is FullPage =>
  !(page instanceof Refusal) && (page.bills?.length ?? 0) > 0 && Boolean(page.endId);

const fullOrNone = (page: WirePage | Refusal): FullPage | undefined =>
  isFull(page) ? page : undefined;

async function pageOfAnotherTime(source: Source, request: BillsRequest, olderMs: number) {
  const { startTime, endTime } = request;
  if (startTime === undefined || endTime === undefined) return undefined;
  // The page must be outside of everything that was requested: the longest spans are 30 days.
  const shiftMs = isUnified(request.productType)
    ? Math.sign(olderMs) * (Math.abs(olderMs) + unifiedIntervalMaxMs)
    : olderMs;
  return fullOrNone(
    await source.bills({
      ...request,
      startTime: epochMs(startTime - shiftMs),
      endTime: epochMs(endTime - shiftMs),
      idLessThan: undefined,
    }),
  );
}

const laterEdge = ({ now, horizon = epochMs(now - retentionMs) }: BillsRequest, laterMs: number) =>
  epochMs(horizon + laterMs);

function refusedPastEdge(request: BillsRequest, laterMs: number): Refusal | undefined {
  const { startTime } = request;
  if (startTime === undefined || startTime >= laterEdge(request, laterMs)) return undefined;
  return new Refusal(400, "43111", "param error time range illegal");
}

const reordered = (rows: readonly unknown[], order: "reversed" | "rotated") =>
  order === "reversed" ? rows.toReversed() : [...rows.slice(1), ...rows.slice(0, 1)];

const idOf = (row: unknown): string | undefined => {
  const { billId, id = billId } = (row ?? {}) as Readonly<Record<"billId" | "id", unknown>>;
  return typeof id === "string" ? id : undefined;
};

const hasId = (row: unknown): boolean => idOf(row) !== undefined;

function newestId(rows: readonly unknown[]): string | undefined {
  const ids = rows.flatMap((row) => idOf(row) ?? []);
  return ids.toSorted((a, b) => Number(BigInt(b) - BigInt(a)))[0];
}

/** An id from an hour before: ids count milliseconds above their lowest 22 bits. */
const muchOlder = (id: string): string => String(BigInt(id) - (BigInt(hourMs) << 22n));

/** Remembers the cursors of each walk. A walk is one product type and one end of time. */
function rememberedCursors() {
  const walks = new Map<string, readonly (string | undefined)[]>();
  return ({ caller, productType, endTime, idLessThan }: BillsRequest) => {
    const walk = `${caller.uid} ${productType} ${endTime}`;
    // A request without a cursor begins a walk: no page comes before it.
    const before = idLessThan === undefined ? [] : (walks.get(walk) ?? []);
    // A retry asks for the same page again.
    const isRetry = before.length > 0 && before.at(-1) === idLessThan;
    const cursors = isRetry ? before : [...before, idLessThan].slice(-cursorsMax);
    const [oldest] = walks.keys();
    if (walks.size >= walksMax && oldest !== undefined) walks.delete(oldest);
    walks.set(walk, cursors);
    return cursors;
  };
}
