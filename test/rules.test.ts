import { expect, test } from "vitest";
import { candidates, inferRules } from "../src/check/reconcile/rules.ts";

const rules = {
  "amount + fee": [true, true, false],
  nothing: [false, false, false],
  amount: [true, false, false],
  fee: [false, true, false],
  "amount + fee + coupon": [true, true, true],
  "fee + coupon": [false, true, true],
} as const;

type Name = keyof typeof rules;

/** How many bills of a category each rule fits. A rule that is not named fits none. */
function learned(category: string, tested: number, fits: Partial<Record<Name, number>>): string {
  const fitting = candidates.map((candidate) => {
    const name = nameOf(candidate);
    return (name && fits[name]) ?? 0;
  });
  const rules = inferRules(category, [{ businessType: "any", tested, fitting }]);
  const rule = rules.find(({ businessType }) => businessType === "any") ?? rules[0];
  return rule?.isTestable ? `${nameOf(rule)}, ${rule.fitting} of ${rule.tested}` : "untestable";
}

function nameOf(rule: (typeof candidates)[number]): Name | undefined {
  const flags = [rule.countsAmount, rule.countsFee, rule.countsCoupon].join();
  return (Object.keys(rules) as Name[]).find((name) => rules[name].join() === flags);
}

test("every rule can be learned", () => {
  expect(candidates.map(nameOf).toSorted()).toEqual(Object.keys(rules).toSorted());
});

test.each<[string, string, number, Partial<Record<Name, number>>, string]>([
  ["is what is expected where no bill was tested", "trade", 0, {}, "amount + fee, 0 of 0"],
  ["is nothing for margin before any was tested", "margin", 0, {}, "nothing, 0 of 0"],
  ["stays where all fit it", "trade", 9, { "amount + fee": 9, amount: 9 }, "amount + fee, 9 of 9"],
  ["is another where that fits more", "margin", 5, { nothing: 0, amount: 5 }, "amount, 5 of 5"],
  [
    "is with the coupon where some were paid by one",
    ...(["trade", 100, { "amount + fee": 94, "amount + fee + coupon": 100 }] as const),
    "amount + fee + coupon, 100 of 100",
  ],
  ["is no other on the word of two bills", "funding", 2, { nothing: 2 }, "amount + fee, 0 of 2"],
  [
    "stays where one of three is damaged",
    "bonus",
    3,
    { "amount + fee": 2 },
    "amount + fee, 2 of 3",
  ],
  ["cannot be tested where nothing fits", "interest", 3, {}, "untestable"],
  ["cannot be tested where most do not fit", "interest", 9, { "amount + fee": 4 }, "untestable"],
  ["can where half of them fit", "interest", 8, { "amount + fee": 4 }, "amount + fee, 4 of 8"],
])("what a category moves the wallet by %s", (_, category, tested, fits, expected) => {
  expect(learned(category, tested, fits)).toBe(expected);
});

test("a type that fits nothing has a rule of its own, and leaves the rest of its category testable", () => {
  const evidence = (businessType: string, tested: number, fits: number) => ({
    ...{ businessType, tested },
    fitting: candidates.map((_, place) => (place === 0 ? fits : 0)),
  });
  const types = [evidence("odd", 9, 0), evidence("plain", 3, 3), evidence("rare", 2, 0)];
  const rules = inferRules("transfer", types);
  expect(rules.map(({ businessType, isTestable }) => [businessType, isTestable])).toEqual([
    ["", true],
    ["odd", false],
  ]);
  expect(rules[0]).toMatchObject({ tested: 5, fitting: 3 });
});
