import {
  categoryOf,
  type UnifiedProductType,
  unifiedProductTypes,
} from "../../contract/product-types.ts";
import { epochMs } from "../../contract/time.ts";
import { undocumentedFields, type WireBill } from "../entry.ts";
import type { LedgerBill } from "../ledger-bill.ts";
import { decimalText, drawUnits, type Units, unifiedPlaces } from "../money.ts";
import { type Random, seededRandom } from "../random.ts";
import { snowflake } from "../snowflake.ts";
import { type Happening, type HappeningOptions, happenings as happeningsOf } from "./happenings.ts";
import { type Row, rowsOf } from "./rows.ts";

/** Behaviours of unified accounts that are not known. The real exchange may show any of them. */
export type UnifiedKind = {
  /** Whether a futures row's amount contains its fee. Default false. */
  readonly isFuturesFeeInside?: boolean;
  /** Whether two categories may use the same id. Default false. */
  readonly areIdsReused?: boolean;
  /**
   * Rows before this time have no position fields, in ms since the epoch. Default all have them.
   */
  readonly positionsSince?: number;
  /** Factor on the number of trades. Default the whole ledger's density. */
  readonly density?: number;
};

type UnifiedBills = Record<UnifiedProductType, LedgerBill[]>;

/** A unified account's ledgers, and its one balance for each coin. */
export type UnifiedBook = {
  readonly bills: Readonly<UnifiedBills>;
  /** The balance of each coin over all categories. */
  readonly balances: ReadonlyMap<string, Units>;
  /** Books the bills of `[from, to)`, in ms since the Unix epoch. */
  play(span: { readonly from: number; readonly to: number }): void;
  /** Books happenings, in the order in which they were booked. */
  book(happenings: readonly Happening[]): void;
};

type UnifiedBookOptions = UnifiedKind &
  Pick<HappeningOptions, "now" | "density" | "edges" | "isClassified"> & {
    readonly seed: string | number;
    /** The product types with happenings. */
    readonly productTypes: readonly UnifiedProductType[];
    /** Makes an id's counter specific to the account. */
    readonly counterOf: (counter: number) => number;
  };

export function unifiedBook(options: UnifiedBookOptions): UnifiedBook {
  const { seed, productTypes, isFuturesFeeInside = false } = options;
  const bills = billsOfEach();
  const balances = new Map<string, Units>();
  const balanceOf = (coin: string): Units => balances.get(coin) ?? 0n;
  const random = seededRandom(`${seed}/unified`);
  const nextId = ids(options);

  function bookOne(happening: Happening): void {
    const { productType, at, bookedMs, lateMs } = happening;
    const isWanted = productTypes.includes(productType);
    for (const row of rowsOf(happening, { random, balances: balanceOf, isFuturesFeeInside })) {
      const balance = balanceOf(row.coin) + row.moved;
      balances.set(row.coin, balance);
      const billId = nextId(productType, at + bookedMs);
      if (!isWanted) continue;
      bills[productType].push({
        billId,
        cTime: epochMs(at),
        visibleAt: epochMs(at + Math.max(bookedMs, lateMs)),
        businessType: row.type,
        coin: row.coin,
        row: wireRecord(random, happening, row, billId, balance, options),
      });
    }
  }

  const book: UnifiedBook["book"] = (happenings) => {
    const bookedAt = ({ at, bookedMs }: Happening) => at + bookedMs;
    for (const happening of happenings.toSorted((a, b) => bookedAt(a) - bookedAt(b)))
      bookOne(happening);
  };

  return {
    bills,
    balances,
    book,
    play: (span) =>
      book(
        productTypes.flatMap((productType) =>
          happeningsOf({
            ...options,
            ...span,
            productType,
            random: seededRandom(`${seed}/${productType}/${span.from}`),
          }),
        ),
      ),
  };
}

const billsOfEach = (): UnifiedBills =>
  Object.fromEntries(unifiedProductTypes.map((productType) => [productType, []])) as never;

/**
 * Ids from one sequence, or from one for each category, so that two categories may have the same
 * id.
 */
function ids({ areIdsReused = false, counterOf }: UnifiedBookOptions) {
  const last = new Map<string, number>();
  return (productType: UnifiedProductType, bookedAt: number): string => {
    const key = areIdsReused ? `${productType} ${bookedAt}` : String(bookedAt);
    const counter = (last.get(key) ?? -1) + 1;
    last.set(key, counter);
    return snowflake(bookedAt, counterOf(counter));
  };
}

/** A row as the exchange sends it, in the order of its fields. */
function wireRecord(
  random: Random,
  { productType, at }: Happening,
  { type, coin, symbol, amount, fee }: Row,
  id: string,
  balance: Units,
  { positionsSince = 0 }: UnifiedKind,
): WireBill {
  const hasPosition = at >= positionsSince;
  const position = positionOf(random, productType);
  return {
    category: spelledCategory(random, productType),
    id,
    ...(symbol === "" && random() < 0.5 ? {} : { symbol }),
    coin,
    type,
    ...(hasPosition && { positionType: position.type }),
    amount: spelled(random, amount),
    fee: fee === 0n ? "0" : spelled(random, fee),
    ...(hasPosition && { positionAmount: position.amount, positionBalance: position.balance }),
    balance: random() < 0.003 ? "" : spelled(random, balance),
    ts: String(at),
    ...undocumentedFields(random),
  };
}

/** The documentation's sample writes "Margin". */
function spelledCategory(random: Random, productType: UnifiedProductType): string {
  const category = categoryOf(productType);
  return productType === "UTA-MARGIN" && random() < 0.3 ? "Margin" : category;
}

const spelled = (random: Random, amount: Units): string =>
  decimalText(amount, random() < 0.1 ? "all" : "needed", unifiedPlaces);

type Position = { readonly type: string; readonly amount: string; readonly balance: string };
const noPosition: Position = { type: "", amount: "", balance: "" };
const crossed: Position = { type: "crossed", amount: "0", balance: "0" };

function positionOf(random: Random, productType: UnifiedProductType): Position {
  if (productType === "UTA-OTHER") return noPosition;
  if (!productType.endsWith("-FUTURES") || random() < 0.75) return crossed;
  const margin = drawUnits(random, 10n ** BigInt(unifiedPlaces + 3));
  const change = random() < 0.5 ? -margin / 3n : margin / 3n;
  return { type: "isolated", amount: spelled(random, change), balance: spelled(random, margin) };
}
