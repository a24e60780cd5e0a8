import { expectedRule, type WalletRule } from "../db/sql/expected-rule.ts";
import { evidenceOf, newTally, type TypeTally } from "./tallies.ts";
import { inferRule, movesText } from "./wallet-rules.ts";

/** The rule of a category, or of a type that differs from its category's. */
export type KnownRule = WalletRule & {
  readonly productType: string;
  readonly category: string | null;
  /** Null for the rule of a category, which holds for types without a rule of their own. */
  readonly businessType: string | null;
  readonly tested: number;
  readonly fitting: number;
  readonly isTestable: boolean;
};

/** What each bill of an account moves its wallet by, as far as it is known. */
export type KnownRules = {
  /** By type: see src/contract/business-types.ts. */
  readonly categories: ReadonlyMap<string, string | null>;
  readonly rules: readonly KnownRule[];
};

export const keyOf = ({ productType, category, businessType }: KnownRule): string =>
  JSON.stringify(
    businessType === null ? [productType, category] : [productType, null, businessType],
  );

/** The tallies of all types that a check meets. */
export class Tallies {
  readonly #known: KnownRules;
  readonly #rules: ReadonlyMap<string, KnownRule>;
  readonly #tallies = new Map<string, Map<string, TypeTally>>();

  constructor(known: KnownRules) {
    this.#known = known;
    this.#rules = new Map(known.rules.map((rule) => [keyOf(rule), rule]));
  }

  get all(): readonly TypeTally[] {
    return [...this.#tallies.values()].flatMap((tallies) => [...tallies.values()]);
  }

  of(productType: string, businessType: string): TypeTally {
    const tally = this.#tallies.get(productType)?.get(businessType);
    return tally ?? this.#add(productType, businessType);
  }

  #add(productType: string, businessType: string): TypeTally {
    const category = this.#known.categories.get(businessType) ?? null;
    const ofType = this.#rules.get(JSON.stringify([productType, null, businessType]));
    const ofCategory = this.#rules.get(JSON.stringify([productType, category]));
    const tally = newTally({
      productType,
      businessType,
      category,
      rule: ofType ?? ofCategory,
      isTestable: ofType !== undefined || (ofCategory?.isTestable ?? true),
    });
    const ofProduct = this.#tallies.get(productType) ?? new Map<string, TypeTally>();
    this.#tallies.set(productType, ofProduct);
    ofProduct.set(businessType, tally);
    return tally;
  }
}

/**
 * Learns from a whole check by which rule each category moves the wallet, and which types differ from their
 * category. Rules that no bill contradicts are kept.
 */
export function learnRules(
  known: readonly KnownRule[],
  tallies: readonly TypeTally[],
): readonly KnownRule[] {
  const learned = new Map(known.map((rule) => [keyOf(rule), rule]));
  const met = Map.groupBy(
    tallies.filter(({ category }) => category !== null),
    ({ productType, category }) => JSON.stringify([productType, category]),
  );
  const products = new Set(tallies.map(({ productType }) => productType));
  for (const rule of known) {
    const isMet = met.has(JSON.stringify([rule.productType, rule.category]));
    if (rule.businessType === null && products.has(rule.productType) && !isMet)
      learned.set(keyOf(rule), { ...rule, isTestable: true, tested: 0, fitting: 0 });
  }
  for (const types of met.values()) {
    for (const rule of known) {
      const isOfThese = types.some(
        ({ productType, businessType }) =>
          rule.productType === productType && rule.businessType === businessType,
      );
      if (isOfThese) learned.delete(keyOf(rule));
    }
    for (const rule of rulesOf(types, known)) learned.set(keyOf(rule), rule);
  }
  return [...learned.values()].toSorted(inNames);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const inNames = (a: KnownRule, b: KnownRule): number =>
  compare(a.productType, b.productType) ||
  compare(a.category ?? "", b.category ?? "") ||
  compare(a.businessType ?? "", b.businessType ?? "");

/** The rules of a category and of its types. */
function rulesOf(types: readonly TypeTally[], known: readonly KnownRule[]): readonly KnownRule[] {
  const [first] = types;
  if (first === undefined) return [];
  const { productType, category } = first;
  const isHere = (rule: KnownRule) => rule.productType === productType;
  const own = known.filter(
    (rule) => isHere(rule) && types.some((type) => type.businessType === rule.businessType),
  );
  if (types.some(({ isDoubted }) => isDoubted)) {
    const rule = inferRule(category ?? "", types.map(evidenceOf));
    return [
      { ...rule, productType, category, businessType: null },
      ...rule.types.map((type) => ({ ...type, productType, category, isTestable: true })),
    ];
  }
  const before = known.find(
    (rule) => isHere(rule) && rule.category === category && rule.businessType === null,
  );
  const fitting = (tallies: readonly TypeTally[]) =>
    tallies.reduce((sum, { bills, unknown }) => sum + bills - unknown, 0);
  const others = types.filter(
    (type) => !own.some((rule) => rule.businessType === type.businessType),
  );
  const counted = (tallies: readonly TypeTally[]) => ({
    tested: fitting(tallies),
    fitting: fitting(tallies),
    isTestable: true,
  });
  return [
    {
      ...(before ?? { ...expectedRule(category ?? ""), productType, category, businessType: null }),
      ...counted(others),
    },
    ...own.map((rule) => ({
      ...rule,
      ...counted(types.filter((type) => type.businessType === rule.businessType)),
    })),
  ];
}

const unknownRule = (rule: KnownRule): string =>
  rule.businessType === null
    ? textOf({ ...expectedRule(rule.category ?? ""), isTestable: true })
    : "";

const textOf = (rule: WalletRule & { readonly isTestable: boolean }): string =>
  JSON.stringify([rule.countsAmount, rule.countsFee, rule.countsCoupon, rule.isTestable]);

/** The rules that differ, new and gone ones included. A category without a rule has the expected one. */
export function changedRules(
  before: readonly KnownRule[],
  after: readonly KnownRule[],
): readonly KnownRule[] {
  const [known, learned] = [before, after].map(
    (rules) => new Map(rules.map((rule) => [keyOf(rule), rule])),
  );
  const all = new Map([...before, ...after].map((rule) => [keyOf(rule), rule]));
  return [...all].flatMap(([key, rule]) => {
    const [was, is] = [known?.get(key), learned?.get(key)];
    const text = (one: KnownRule | undefined) =>
      one === undefined ? unknownRule(rule) : textOf(one);
    return text(was) === text(is) ? [] : [rule];
  });
}

// Bills that fit several rules tip the balance where others contradict each other, as long as these are few.
const firmMin = 100;

/**
 * Whether a whole check has something to learn from the changed bills: their category is new, or no rule fits
 * it so far, or their category or type has few bills, which do not all fit one rule.
 */
export function hasUnlearnedCategory(
  known: readonly KnownRule[],
  tallies: readonly TypeTally[],
): boolean {
  return tallies.some(({ productType, businessType, category }) => {
    if (category === null) return false;
    const rules = known.filter((rule) => rule.productType === productType);
    const ofType = rules.find((rule) => rule.businessType === businessType);
    const ofCategory = rules.find(
      (rule) => rule.category === category && rule.businessType === null,
    );
    if (ofCategory === undefined || !ofCategory.isTestable) return true;
    const { tested, fitting } = ofCategory;
    return (fitting < tested && tested < firmMin) || (ofType?.tested ?? firmMin) < firmMin;
  });
}

/** The rule by which a category was found to move the wallet, and how often it fits. */
export type RuleSummary = Omit<KnownRule, keyof WalletRule | "category"> & {
  readonly account: string;
  readonly category: string;
  readonly moves: string;
};

export const ruleSummaries = (
  account: string,
  rules: readonly KnownRule[],
): readonly RuleSummary[] =>
  rules.flatMap(({ countsAmount, countsFee, countsCoupon, category, ...rule }) =>
    category === null
      ? []
      : [
          {
            account,
            ...rule,
            category,
            moves: movesText({ countsAmount, countsFee, countsCoupon }),
          },
        ],
  );
