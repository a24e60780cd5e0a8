import { readFileSync } from "node:fs";
import { z } from "zod";
import { classicProductTypes, unifiedProductTypes } from "../../src/contract/product-types.ts";
import { dayMs } from "../../src/contract/time.ts";
import { messageOf, UsageError } from "../../src/errors.ts";
import { type FaultKind, type LaterCode, laterCodes } from "../faults/kinds.ts";
import { type BrokenRow, brokenRows } from "../faults/ledger.ts";
import type { History, ProcessFault } from "./history.ts";

/**
 * Reads a history from a JSON file.
 * @throws UsageError that names the file, and its first fault.
 */
export function readHistory(file: string): History {
  const parsed = HistoryShape.safeParse(jsonOf(file));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = z.core.toDotPath(issue?.path ?? []);
  throw new UsageError(
    `${file} is no history: ${place === "" ? "" : `${place}: `}${issue?.message}; see test/simulation/history.ts`,
  );
}

function jsonOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const what = error instanceof SyntaxError ? "is no JSON" : "cannot be read";
    throw new UsageError(`${file} ${what}: ${messageOf(error)}`);
  }
}

const daysMax = 3_650;
const timeMs = z
  .int()
  .min(-daysMax * dayMs)
  .max(daysMax * dayMs);
const spanMs = timeMs.min(0);
const place = z.int().min(1);
const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>) =>
  Object.keys(record) as Key[];

const ExchangeShape = z.strictObject({
  quirks: z.strictObject({
    bounds: z.enum(["both", "start", "end", "neither"]).exactOptional(),
    lastPage: z.enum(["empty-string", "null-id", "no-id", "null-bills", "same-id"]).exactOptional(),
    shortLastPage: z.boolean().exactOptional(),
    shortPages: z.boolean().exactOptional(),
    pageRows: z.int().min(1).exactOptional(),
    pageOrder: z.enum(["newest-first", "oldest-first", "shuffled"]).exactOptional(),
    sortedBy: z.enum(["time", "id"]).exactOptional(),
    inclusiveCursor: z.boolean().exactOptional(),
  }),
  pastHorizon: z.enum(["trim", "refuse", "serve"]),
  wayMs: spanMs,
  jitterMs: spanMs,
});

const LedgerShape = z.strictObject({
  seed: z.int(),
  productTypes: z.array(z.enum(classicProductTypes)).min(1),
  futureDays: z.int().min(0).max(daysMax),
  density: z.number().min(0).max(10),
  bursts: z.array(z.strictObject({ atMs: timeMs, bills: z.int().min(0).max(10_000) })),
  oddDecimals: z.int().min(0),
  brokenRows: z.int().min(0),
  idJitterMs: spanMs,
  edgeBills: z.boolean(),
});

const AccountShape = z.strictObject({
  modes: z.array(z.strictObject({ atMs: timeMs, mode: z.string().min(1) })).min(1),
  productTypes: z.array(z.enum(unifiedProductTypes)).min(1),
  density: z.number().min(0).max(10),
  isFuturesFeeInside: z.boolean(),
  areIdsReused: z.boolean(),
  positionsSinceMs: timeMs,
  numericCursor: z.boolean(),
});

const RecentShape = z.strictObject({
  agoMs: spanMs,
  lateMs: spanMs,
  restatedAfterMs: spanMs.exactOptional(),
  broken: z.enum(keysOf<BrokenRow>(brokenRows)).exactOptional(),
});

const fault = <Kind extends FaultKind, Shape extends z.ZodRawShape>(
  kinds: readonly Kind[],
  shape: Shape,
) =>
  z.strictObject({
    kind: z.enum(kinds),
    atRequest: place,
    times: place.exactOptional(),
    ...shape,
  });

const ExchangeFaultShape = z.discriminatedUnion("kind", [
  fault(["html-with-200", "empty-body", "reset-before-answer", "page-again", "page-skipped"], {}),
  fault(["end-id-repeats", "end-id-foreign", "end-id-newest", "end-id-null", "false-end"], {}),
  fault(["too-many-requests"], { retryAfterSeconds: z.int().min(0).exactOptional() }),
  fault(["server-error"], { status: z.literal([500, 502, 503, 504]) }),
  fault(["refused-for-now"], {
    code: z.enum(keysOf<LaterCode>(laterCodes)),
    status: z.literal([200, 400]),
  }),
  fault(["cut-json", "reset-in-body"], { share: z.number().min(0).max(1) }),
  fault(["no-data"], { data: z.enum(["missing", "null", "empty"]) }),
  fault(["drip"], { dripMs: spanMs, bytes: z.int().min(0).exactOptional() }),
  fault(["late-answer", "late-request"], { holdMs: spanMs }),
  fault(["rows-reordered"], { order: z.enum(["reversed", "rotated"]) }),
  fault(["page-of-another-time"], { olderMs: spanMs }),
  fault(["end-id-cycles"], { pagesBack: place }),
  fault(["wrong-time", "clock-jump"], { offMs: timeMs }),
  fault(["edge-refuses", "edge-trims"], { laterMs: spanMs }),
  fault(["maintenance"], { forMs: spanMs, says: z.enum(["40200", "503"]) }),
]);

const DatabaseFaultShape = z.strictObject({
  of: z.enum(["statement", "commit"]),
  at: place,
  kind: z.enum(["fails", "cut-before", "cut-after"]),
});

const ProcessFaultShape: z.ZodType<ProcessFault> = z.lazy(() =>
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.enum(["kill", "stop", "second"]), at: place }),
    z.strictObject({ kind: z.enum(["freeze", "suspend"]), at: place, forMs: spanMs }),
    z.strictObject({
      kind: z.literal("verify"),
      at: place,
      days: z.number().min(0).max(daysMax),
      process: z.array(ProcessFaultShape),
    }),
  ]),
);

const HistoryShape: z.ZodType<History> = z.strictObject({
  seed: z.int(),
  exchange: ExchangeShape,
  ledger: LedgerShape,
  account: AccountShape.exactOptional(),
  steps: z
    .array(
      z.strictObject({
        passMs: spanMs,
        aheadMs: timeMs,
        recent: z.array(RecentShape),
        exchange: z.array(ExchangeFaultShape),
        database: z.array(DatabaseFaultShape),
        process: z.array(ProcessFaultShape),
      }),
    )
    .min(1),
});
