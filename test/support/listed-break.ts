import type { Break } from "../../src/audit/breaks.ts";

/** An open break as the page lists it. */
export const aBreak = (
  kind: Break["kind"],
  difference: string,
  more: Partial<Break> = {},
): Break => ({
  kind,
  difference,
  breakId: difference.length,
  account: "main",
  productType: "USDT-FUTURES",
  coin: kind === "chain" ? "USDT" : "",
  anchor: "1",
  happenedAt: null,
  expected: "0",
  observed: difference,
  firstBadBill: null,
  firstBadProductType: null,
  lastGoodBill: null,
  lastGoodProductType: null,
  explanation: "",
  firstSeenAt: "2026-01-01T00:00:00.000Z",
  state: "open",
  note: null,
  acceptedAt: null,
  acceptedBy: null,
  resolvedAt: null,
  decisions: [],
  ...more,
});
