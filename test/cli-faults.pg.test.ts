import { expect, test } from "vitest";
import { dayMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { sendDelivered } from "./faults/delivery.ts";
import { type FaultKind, type ScheduledFault, survivableKinds } from "./faults/kinds.ts";
import { faultyExchange } from "./faults/schedule.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const productType = "USDT-FUTURES";

// A run takes some 70 requests; most windows have three pages.
const schedule: readonly ScheduledFault[] = [
  { kind: "too-many-requests", atRequest: 2 },
  { kind: "too-many-requests", retryAfterSeconds: 1, atRequest: 4 },
  { kind: "late-answer", holdMs: 15_500, atRequest: 5 },
  { kind: "server-error", status: 502, atRequest: 6, times: 2 },
  { kind: "refused-for-now", code: "40015", status: 200, atRequest: 8 },
  { kind: "html-with-200", atRequest: 9 },
  { kind: "cut-json", share: 0.7, atRequest: 10, times: 2 },
  { kind: "no-data", data: "null", atRequest: 12 },
  { kind: "reset-before-answer", atRequest: 13 },
  { kind: "reset-in-body", share: 0.5, atRequest: 14, times: 2 },
  { kind: "drip", dripMs: 50, bytes: 20, atRequest: 16 },
  { kind: "late-request", holdMs: 2 * secondMs, atRequest: 17 },
  { kind: "empty-body", atRequest: 18 },
  { kind: "rows-reordered", order: "reversed", atRequest: 19, times: 3 },
  { kind: "end-id-newest", atRequest: 22 },
  { kind: "wrong-time", offMs: 20 * secondMs, atRequest: 24 },
  { kind: "wrong-time", offMs: -3 * dayMs, atRequest: 25 },
  { kind: "clock-jump", offMs: 3 * minuteMs, atRequest: 26 },
  { kind: "maintenance", forMs: 1_500, says: "40200", atRequest: 27 },
  { kind: "page-of-another-time", olderMs: 14 * dayMs, atRequest: 30, times: 2 },
  { kind: "end-id-foreign", atRequest: 33, times: 2 },
  { kind: "end-id-cycles", pagesBack: 1, atRequest: 36, times: 12 },
  { kind: "end-id-repeats", atRequest: 48, times: 5 },
  { kind: "page-again", atRequest: 53, times: 6 },
  { kind: "end-id-null", atRequest: 60, times: 10 },
  { kind: "false-end", atRequest: 20 },
  { kind: "edge-refuses", laterMs: 2 * secondMs, atRequest: 1, times: 6 },
];

const runsMax = 4;

test("the real sync gets exactly the ledger out of an exchange with faults of every sort, in a few runs whose exit codes are true", async () => {
  const met = new Set<FaultKind>();
  await using sandbox = await openSandbox({
    seed: "cli-faults",
    density: 1.8,
    send: sendDelivered,
    faults: faultyExchange({ schedule, onFault: ({ kind }) => met.add(kind) }),
  });
  await using database = await testDatabase();
  await using tables = openDatabase(database.url);
  const env = environmentFor(sandbox, database, { PRODUCT_TYPES: productType });
  const codes: (number | null)[] = [];
  while (codes.at(-1) !== 0 && codes.length < runsMax) {
    const syncedAt = Date.now();
    const { code, stdout } = await runCli(["sync", "--only", "bills"], { env });
    codes.push(code);
    const comparison = await heldAgainstLedger(tables.db, sandbox, productType, syncedAt);
    expect(comparison).toMatchObject(code === 0 ? exactly : { extra: [], different: [] });
    expect(stdout).toMatch(code === 0 ? /\ncomplete, after / : /\nNOT complete, after /);
  }
  expect(codes).toEqual([...codes.slice(1).map(() => 1), 0]);
  // These faults strike only a request that continues after a page. Chance decides which ones do.
  const behindPages: readonly FaultKind[] = [
    "end-id-cycles",
    "end-id-foreign",
    "end-id-repeats",
    "end-id-newest",
    "end-id-null",
    "page-again",
    "page-of-another-time",
  ];
  expect(survivableKinds.filter((kind) => !met.has(kind) && !behindPages.includes(kind))).toEqual(
    [],
  );
  const { peaks } = sandbox.statistics();
  expect(Math.max(...peaks.map(({ requests }) => requests))).toBeLessThanOrEqual(10);
}, 60_000);
