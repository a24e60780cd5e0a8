import { dayMs } from "../../src/lib/time.ts";
import { decimalText, grain, type Units, units } from "../../src/wings/sandbox/money.ts";
import { integer, type Random } from "../../src/wings/sandbox/random.ts";
import type { TrueBill } from "./small-ledger.ts";

export type Damaged = {
  /** In true order; a bill moves what its changed numbers say. */
  readonly bills: readonly TrueBill[];
  /** Which of the original bills was damaged. */
  readonly index?: number;
  /** Time that was not read. */
  readonly unread?: readonly [number, number];
};

/** What a break's explanation says of its cause. */
export const causes = {
  missing: /^one of three: bills that add up to /,
  balance: /^this bill's balance is wrong/,
  rounding: /^a discrepancy of one unit in the last place/,
  unread: /^not all time between the two bills was read/,
} as const;
export type Cause = keyof typeof causes;

export type Damage = {
  readonly does: (bills: readonly TrueBill[], random: Random) => Damaged;
  /** The causes that the expected break may name. */
  readonly names: readonly Cause[];
};

const exchanged = (bills: readonly TrueBill[], index: number, ...by: TrueBill[]): Damaged => ({
  bills: bills.toSpliced(index, 1, ...by),
  index,
});

/** Changes one bill that is suitable. */
const one =
  (
    change: (bill: TrueBill) => readonly TrueBill[],
    isFit: (bill: TrueBill) => boolean = () => true,
  ) =>
  (bills: readonly TrueBill[], random: Random): Damaged => {
    const fit = bills.flatMap((bill, index) => (isFit(bill) ? [index] : []));
    const index = fit[integer(random, 0, fit.length - 1)] ?? 0;
    const bill = bills[index];
    return bill === undefined ? { bills } : exchanged(bills, index, ...change(bill));
  };

const moves = ({ moved }: TrueBill) => moved !== 0n;

const withAmount = (bill: TrueBill, more: Units): TrueBill => ({
  ...bill,
  amount: decimalText(units(bill.amount) + more),
  moved: bill.moved + (moves(bill) || bill.amount === "0" ? more : 0n),
});

export const damages = {
  removed: { does: one(() => []), names: ["missing"] },
  doubled: {
    does: one((bill) => [bill, { ...bill, billId: `${BigInt(bill.billId) + 4_000n}` }]),
    names: ["missing"],
  },
  "amount + 1e-8": {
    does: one((bill) => [withAmount(bill, grain)], moves),
    // Two units, if the bill is one that was rounded.
    names: ["rounding", "missing", "balance"],
  },
  "amount + 1": { does: one((bill) => [withAmount(bill, units("1"))], moves), names: ["missing"] },
  "fee's sign": {
    does: one(
      (bill) => [
        { ...bill, fee: decimalText(-units(bill.fee)), moved: bill.moved - 2n * units(bill.fee) },
      ],
      ({ fee }) => fee !== "0",
    ),
    names: ["missing"],
  },
  "balance + 1": { does: withOneBalance, names: ["balance", "missing"] },
  "a day unread": { does: withoutDay, names: ["unread"] },
} as const satisfies Record<string, Damage>;

/**
 * A bill that is alone in its millisecond: among others, the order might look wrong instead. Not
 * the last one of a ledger, since no next balance shows that it is right again.
 */
function withOneBalance(bills: readonly TrueBill[], random: Random): Damaged {
  const counts = Map.groupBy(bills, ({ cTime }) => cTime);
  return one(
    (bill) => [{ ...bill, balance: decimalText(units(bill.balance ?? "0") + units("1")) }],
    ({ balance, cTime }) => balance !== null && counts.get(cTime)?.length === 1,
  )(bills, random);
}

function withoutDay(bills: readonly TrueBill[], random: Random): Damaged {
  const from = (bills[0]?.cTime ?? 0) + integer(random, 0, 4 * dayMs);
  const to = from + dayMs;
  return { bills: bills.filter(({ cTime }) => cTime < from || cTime >= to), unread: [from, to] };
}

/**
 * Where the balances, in true order, do not follow each other: what anybody could see who knew the
 * order and what each bill moves.
 * @param tolerance how far a balance may be off, for each bill.
 */
export function visible(
  bills: readonly TrueBill[],
  tolerance: Units = 0n,
): readonly { readonly billId: string; readonly difference: string }[] {
  let expected: Units | undefined;
  let steps = 0n;
  return bills.flatMap(({ billId, moved, balance }) => {
    if (expected !== undefined) expected += moved;
    steps += 1n;
    if (balance === null) return [];
    const difference = expected === undefined ? 0n : units(balance) - expected;
    const most = tolerance * steps;
    expected = units(balance);
    steps = 0n;
    const isSeen = difference > most || difference < -most;
    return isSeen ? [{ billId, difference: decimalText(difference) }] : [];
  });
}
