import {
  categoryOf,
  type UnifiedProductType,
  unifiedProductTypes,
} from "../../../core/contract/product-types.ts";
import { epochMs } from "../../../lib/time.ts";
import {
  type Book,
  type LedgerBill,
  snowflake,
  undocumentedFields,
  type WireBill,
} from "../entry.ts";
import { decimalText, drawUnits, type Units, unifiedPlaces } from "../money.ts";
import { type Random, seededRandom } from "../random.ts";
import { type LedgerEvent, type LedgerEventOptions, ledgerEvents } from "./ledger-events.ts";
import { type Row, rowsOf } from "./rows.ts";

type UnifiedBookOptions = Pick<LedgerEventOptions, "now" | "density" | "edges" | "types"> & {
  readonly seed: string | number;
  /** The product types with events. */
  readonly productTypes: readonly UnifiedProductType[];
  /** Makes an id's counter specific to the account. */
  readonly counterOf: (counter: number) => number;
};

/** A unified account's ledgers, and its one balance for each coin. */
export function unifiedBook(options: UnifiedBookOptions): Book {
  const { seed, productTypes, counterOf } = options;
  const bills = billsOfEach();
  const balances = new Map<string, Units>();
  const balanceOf = (coin: string): Units => balances.get(coin) ?? 0n;
  const random = seededRandom(`${seed}/unified`);
  const counters = new Map<number, number>();

  function bookOne(event: LedgerEvent): void {
    const { productType, at, bookedMs, lateMs } = event;
    const isWanted = productTypes.includes(productType);
    for (const row of rowsOf(event, { random, balances: balanceOf })) {
      const balance = balanceOf(row.coin) + row.moved;
      balances.set(row.coin, balance);
      const counter = (counters.get(at + bookedMs) ?? -1) + 1;
      counters.set(at + bookedMs, counter);
      const billId = snowflake(at + bookedMs, counterOf(counter));
      if (!isWanted) continue;
      bills[productType].push({
        billId,
        cTime: epochMs(at),
        visibleAt: epochMs(at + Math.max(bookedMs, lateMs)),
        businessType: row.type,
        coin: row.coin,
        row: wireRecord(random, event, row, billId, balance),
      });
    }
  }

  /** Books events in the order in which they were booked. */
  function book(events: readonly LedgerEvent[]): void {
    const bookedAt = ({ at, bookedMs }: LedgerEvent) => at + bookedMs;
    for (const event of events.toSorted((a, b) => bookedAt(a) - bookedAt(b))) bookOne(event);
  }

  return {
    bills,
    balances,
    play: (span) =>
      book(
        productTypes.flatMap((productType) =>
          ledgerEvents({
            ...options,
            ...span,
            productType,
            random: seededRandom(`${seed}/${productType}/${span.from}`),
          }),
        ),
      ),
    transfer: (at, coin, amount) =>
      bookOne({
        ...{ at, bookedMs: 0, lateMs: 0, productType: "UTA-OTHER" },
        act: { kind: "row", type: amount < 0n ? "TRANSFER_OUT" : "TRANSFER_IN", coin, amount },
      }),
  };
}

const billsOfEach = (): Record<UnifiedProductType, LedgerBill[]> =>
  Object.fromEntries(unifiedProductTypes.map((productType) => [productType, []])) as never;

/** A row as the exchange sends it, in the order of its fields. */
function wireRecord(
  random: Random,
  { productType, at }: LedgerEvent,
  { type, coin, symbol, amount, fee }: Row,
  id: string,
  balance: Units,
): WireBill {
  const position = positionOf(random, productType);
  return {
    category: spelledCategory(random, productType),
    id,
    ...(symbol === "" && random() < 0.5 ? {} : { symbol }),
    coin,
    type,
    positionType: position.type,
    amount: spelled(random, amount),
    fee: fee === 0n ? "0" : spelled(random, fee),
    positionAmount: position.amount,
    positionBalance: position.balance,
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
