import { expect, test } from "vitest";
import { planResult } from "../src/commands/sync.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { dayMs, epochMs } from "../src/contract/time.ts";
import { noStates } from "../src/db/accounts/account-states.ts";
import { asText } from "../src/output/result.ts";
import { readableTypes } from "../src/roster/roster.ts";
import { nothingToRead } from "../src/sync/account-mode.ts";
import type { LedgerPlan, Walk } from "../src/sync/store.ts";

const start = Date.UTC(2026, 10, 1, 3, 24, 59);
const day = (index: number) => epochMs(start + index * dayMs);

const linesOf = (...args: Parameters<typeof planResult>) => asText(planResult(...args)).split("\n");

/** A plan with windows of 7 days. The first ones are resumed at their cursors. */
function plan(
  account: string,
  productType: ProductType,
  windows: number,
  { resumed = 0, lost = 0 }: { readonly resumed?: number; readonly lost?: number } = {},
): LedgerPlan {
  return {
    ledger: { account, productType },
    plannedAt: day(91),
    walks: Array.from({ length: windows }, (_, index): Walk => {
      const window = { from: day(7 * index), to: day(7 * index + 7) };
      return index < resumed ? { window, cursor: "1" } : { window };
    }),
    lost: lost === 0 ? [] : [{ from: day(-lost), to: day(0) }],
  };
}

test("the plan names each product type's windows, and the least that they cost", () => {
  const plans = [
    plan("main", "USDT-FUTURES", 13, { resumed: 2, lost: 3 }),
    plan("main", "COIN-FUTURES", 0),
  ];
  expect(linesOf(plans)).toEqual([
    "main          windows  resumed  time               from",
    "USDT-FUTURES       13        2  91 d  2026-11-01 03:24Z",
    "COIN-FUTURES        0        0     -                  -",
    "",
    "main/USDT-FUTURES: lost 2026-10-29 03:24:59Z to 2026-11-01 03:24:59Z",
    "13 windows, 26 requests at least, plus one for every page of up to 100 bills",
  ]);
});

test("of an account that is known to be unified no classic product type is planned, and why is said", () => {
  const account = {
    name: "main",
    productTypes: ["USDT-FUTURES" as const],
  };
  const plannedIn = (is: "classic" | "unified" | undefined) =>
    readableTypes(account, { ...noStates.of("main"), mode: is && { is, since: day(0) } });
  expect(plannedIn(undefined)).toEqual(["USDT-FUTURES"]);
  expect(plannedIn("classic")).toEqual(["USDT-FUTURES"]);
  expect(plannedIn("unified")).toEqual([]);
  expect(nothingToRead(account, "classic")).toBeUndefined();
  expect(nothingToRead(account, "unified")).toMatch(/main is unified and has no USDT-FUTURES/);
});
