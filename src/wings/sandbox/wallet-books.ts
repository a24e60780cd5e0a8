import { groupedType } from "../../core/contract/business-types.ts";
import { fundingWallet, spotWallet } from "../../core/contract/product-types.ts";
import { dayMs, epochMs, minuteMs } from "../../lib/time.ts";
import { type LedgerBill, snowflakes } from "./entry.ts";
import { decimalText, drawUnits, type Units, units } from "./money.ts";
import { integer, type Random, seededRandom } from "./random.ts";

export type ApartWallet = typeof spotWallet | typeof fundingWallet;

type Move = {
  readonly at: number;
  readonly coin: string;
  readonly group: string;
  readonly type: string;
  readonly amount: Units;
  readonly fee?: Units;
  /** Whether the exchange has a record of it. */
  readonly isWithdrawal?: boolean;
};

// Of the transfers of other ledgers: see business-types.ts and unified-business-types.ts.
const transferType = /^trans_(?:from|to)_exchange$|^TRANSFER_(?:IN|OUT)$/;

/**
 * The bills of a wallet beside the others, such that each of their transfers has its other leg in it: deposits before coins
 * are sent on, coins bought and withdrawn now and then. The balance follows from what moves it, to the last digit. Whether
 * a spot bill's size contains its fee differs between accounts.
 */
export function walletBills(
  wallet: ApartWallet,
  others: readonly LedgerBill[],
  { seed, account }: { readonly seed: string | number; readonly account: number },
): readonly LedgerBill[] {
  const random = seededRandom(`${seed}/${wallet}`);
  const isFeeInside = random() < 0.5;
  const balances = new Map<string, Units>();
  const idAt = snowflakes(account);
  const bills: LedgerBill[] = [];
  for (const move of movesOf(random, others, wallet)) {
    const { at, coin, group, type, amount, fee = 0n } = move;
    const moved = amount + (isFeeInside && wallet === spotWallet ? 0n : fee);
    const balance = (balances.get(coin) ?? 0n) + moved;
    balances.set(coin, balance);
    const id = idAt(at + integer(random, 14, 118));
    bills.push({
      billId: id,
      cTime: epochMs(at),
      visibleAt: epochMs(at),
      businessType: groupedType(group, type),
      coin,
      ...(move.isWithdrawal && { withdrawal: recordOf(wallet, move, id) }),
      row:
        wallet === spotWallet
          ? {
              billId: id,
              coin,
              groupType: group,
              businessType: type,
              size: decimalText(amount),
              balance: decimalText(balance),
              fees: decimalText(fee),
              cTime: String(at),
            }
          : {
              id,
              coin,
              groupType: group,
              type,
              amount: decimalText(amount),
              balance: decimalText(balance),
              ts: String(at),
            },
    });
  }
  return bills;
}

// How long a withdrawal waits for its chain.
const withdrawalMs = 3 * minuteMs;

/** The record of a withdrawal: its size contains the fee, and its last change has the time of the bill. */
function recordOf(wallet: ApartWallet, { at, coin, amount, fee = 0n }: Move, id: string) {
  const madeAt = at - withdrawalMs;
  const same = {
    ...{ orderId: id, coin, clientOid: "", type: "withdraw", dest: "on_chain", chain: "TRX" },
    ...{
      size: decimalText(-amount - fee),
      fee: decimalText(fee),
      status: "success",
      confirm: "20",
      tag: "",
    },
    ...{ fromAddress: "from", toAddress: "to" },
  };
  const [made, updated, transaction] = [String(madeAt), String(at), `tx-${id}`];
  const record =
    wallet === spotWallet
      ? { ...same, tradeId: transaction, cTime: made, uTime: updated }
      : { ...same, recordId: transaction, createdTime: made, updatedTime: updated };
  return { orderId: id, madeAt, record };
}

/** What moves the wallet, oldest first. */
function movesOf(
  random: Random,
  others: readonly LedgerBill[],
  wallet: ApartWallet,
): readonly Move[] {
  const legs = others
    .filter(({ businessType }) => transferType.test(businessType))
    .map((bill): Move => {
      const sent = -units(String(Object(bill.row).amount));
      // In public answers, the two legs were 24 to 54 ms apart.
      const at = bill.cTime - integer(random, 24, 54);
      const type = sent < 0n ? "transfer_out" : "transfer_in";
      return { at, coin: bill.coin, group: "transfer", type, amount: sent };
    })
    .toSorted((a, b) => a.at - b.at);
  const held = new Map<string, Units>();
  const moves: Move[] = [];
  for (const leg of legs) {
    const left = (held.get(leg.coin) ?? 0n) + leg.amount;
    const deposited = left < 0n ? 2n * -left : 0n;
    held.set(leg.coin, left + deposited);
    const coin = leg.coin;
    if (deposited > 0n)
      moves.push({
        at: leg.at - minuteMs,
        coin,
        group: "deposit",
        type: "deposit",
        amount: deposited,
      });
    moves.push(leg);
    if (deposited > 0n) moves.push(...purchase(random, leg.at + dayMs / 4, coin, deposited / 100n));
    else if (random() < 0.1)
      moves.push({
        at: leg.at + dayMs / 8,
        coin,
        group: "withdraw",
        type: "withdraw",
        amount: -left / 50n,
        // A spot bill tells the fee itself.
        fee: wallet === fundingWallet ? -left / 1_000n : 0n,
        isWithdrawal: true,
      });
  }
  return moves.toSorted((a, b) => a.at - b.at);
}

/** A little of a coin is sold for another one. */
function purchase(random: Random, at: number, coin: string, amount: Units): readonly Move[] {
  const received = drawUnits(random, amount);
  const both = { at, group: "transaction" };
  return [
    { ...both, coin, type: "sell", amount: -amount },
    { ...both, coin: "BGB", type: "buy", amount: received, fee: -received / 1_000n },
  ];
}
