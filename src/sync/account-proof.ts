import { pageSizeMax } from "../contract/account-bills.ts";
import type { Bill } from "../contract/bill.ts";
import { type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import { type ProductType, productTypes } from "../contract/product-types.ts";
import { type EpochMs, epochMs, hourMs, isoTime } from "../contract/time.ts";
import { type ExchangeError, ForeignKeyError, isRefused } from "../errors.ts";
import { type AccountMode, modeOf } from "./account-state.ts";
import type { Interval } from "./intervals.ts";
import { horizonAt } from "./plan.ts";
import type { Stream } from "./store.ts";
import type { FetchedPage } from "./walk/pages.ts";

/**
 * The fields by which a bill is recognised as one account's. The id alone is not enough, since nobody
 * guarantees that ids are unique across accounts. Nor is the time: funding has the same millisecond in all
 * accounts.
 */
export type BillMark = Pick<Bill, "billId" | "cTime" | "coin" | "amount" | "fee">;

/** The questions to the database that a proof needs. */
export type ProofStore = {
  /** The time of a stream's newest bill since a time, and before another one; undefined where it has none. */
  newestBill(stream: Stream, since: EpochMs, before?: EpochMs): Promise<EpochMs | undefined>;
  /** Whether any bill of an account is stored, however old. */
  hasBills(account: string): Promise<boolean>;
  /** The times of those of these bills that are stored in a stream. */
  storedTimes(stream: Stream, bills: readonly BillMark[]): Promise<readonly EpochMs[]>;
};

export type ProofDeps = {
  readonly store: ProofStore;
  /** Asks for a page. `question` is called when the rate limit allows sending, and again for each retry. */
  readonly ask: (productType: ProductType, question: () => BillsQuestion) => Promise<FetchedPage>;
  readonly exchangeNow: () => EpochMs;
};

/**
 * The outcome of a proof that found no objection:
 *
 * - served: the key was served stored bills of two times.
 * - served-one: the key was served a stored bill, and no bill of another time could be compared.
 * - nothing-stored: the account has no stored bills to compare with.
 * - out-of-reach: the account has stored bills, but all are older than the exchange's 90 days.
 */
export type Proof = "served" | "served-one" | "nothing-stored" | "out-of-reach";

/** A key is an account's if it serves bills of this many times: two accounts may share one bonus. */
export const provenTimes = 2;

// Each stretch costs one or two requests. Two would do, if the exchange never answered wrongly or withdrew a bill.
const stretchesMax = 4;

// Bills that are about to leave the exchange's 90 days are not asked for.
const reachMarginMs = hourMs;

/**
 * Proves that a key that is new to an account reads that account's ledger: bills that are stored for the
 * account must be served again.
 *
 * @throws ForeignKeyError where none of them is served, or one alone of several, or where all are of the other
 *   mode, which cannot be served.
 * @throws ExchangeError where the key may read no product type of which bills are stored.
 */
export async function proveAccount(
  deps: ProofDeps,
  account: string,
  mode: AccountMode,
): Promise<Proof> {
  const { store, exchangeNow } = deps;
  const since = horizonAt(exchangeNow(), reachMarginMs);
  const newest = await Promise.all(
    productTypes.map(async (productType) => {
      const at = await store.newestBill({ account, productType }, since);
      return at === undefined ? [] : [{ productType, at }];
    }),
  );
  const stored = newest.flat();
  const readable = stored.filter(({ productType }) => modeOf(productType) === mode);
  if (stored.length > 0 && readable.length === 0) throw unprovable(account, mode);
  const proof = await compareStretches(deps, account, readable, since);
  if (proof !== undefined) return proof;
  return (await store.hasBills(account)) ? "out-of-reach" : "nothing-stored";
}

/** A stored bill that the key must serve. */
type Expected = { readonly productType: ProductType; readonly at: EpochMs };

/** A stretch of time to ask for. It ends with a stored bill. */
type Stretch = { readonly productType: ProductType } & Interval;

function stretchTo({ productType, at }: Expected): Stretch {
  const to = epochMs(at + 1);
  return { productType, from: epochMs(to - billsApiOf(productType).windowMaxMs), to };
}

/**
 * Asks for stretches that end with a stored bill, newest first, until the bills of enough times were served.
 * @returns undefined where nothing can be compared.
 */
async function compareStretches(
  { store, ask, exchangeNow }: ProofDeps,
  account: string,
  newest: readonly Expected[],
  since: EpochMs,
): Promise<"served" | "served-one" | undefined> {
  const isReached = ({ to }: Stretch) => to > horizonAt(exchangeNow()) + 1;
  const expected = newest.toSorted((a, b) => a.at - b.at);
  const served = new Set<EpochMs>();
  const compared: Stretch[] = [];
  let refusal: ExchangeError | undefined;
  while (served.size < provenTimes && compared.length < stretchesMax) {
    const next = expected.pop();
    if (next === undefined) break;
    const { productType } = next;
    const stretch = stretchTo(next);
    if (!isReached(stretch)) continue;
    const stream = { account, productType };
    let times: readonly EpochMs[];
    try {
      const bills = await askTwice(ask, productType, () => questionOf(stretch, exchangeNow()));
      times = await store.storedTimes(stream, bills);
    } catch (error) {
      if (!isRefused(error)) throw error;
      refusal = error;
      continue;
    }
    for (const time of times) served.add(time);
    // Checked again, because the answer has set the exchange's clock.
    if (times.length > 0 || isReached(stretch)) compared.push(stretch);
    const before = times.length > 0 ? epochMs(Math.min(...times)) : stretch.from;
    const at = await store.newestBill(stream, since, before);
    if (at === undefined) continue;
    expected.push({ productType, at });
    expected.sort((a, b) => a.at - b.at);
  }
  if (served.size >= provenTimes) return "served";
  if (served.size > 0 && compared.length === 1) return "served-one";
  if (compared.length > 0) throw foreignKey(account, compared, served.size > 0);
  if (refusal !== undefined) throw refusal;
  return undefined;
}

function questionOf({ from, to }: Stretch, now: EpochMs): BillsQuestion {
  const startTime = epochMs(Math.min(Math.max(from, horizonAt(now)), to - 1) - 1);
  return { startTime, endTime: to, limit: pageSizeMax };
}

/**
 * The error for a new key together with another mode. Any unified account would pass for the one that was
 * classic, so nothing can be proven.
 */
const unprovable = (account: string, mode: AccountMode): ForeignKeyError =>
  new ForeignKeyError(
    `this API key was not used for account ${account} before. It is the key of a ${mode} account, which ` +
      `serves none of the bills that are stored of ${account}: nothing was written. Run once with the key ` +
      `that was used before; if it certainly is the same account, sync --new-key takes this key`,
  );

function foreignKey(
  account: string,
  compared: readonly Stretch[],
  hasServed: boolean,
): ForeignKeyError {
  const served = hasServed
    ? "one of its bills that are stored, and not the others"
    : "none of its bills that are stored";
  const places = compared.map(({ productType, to }) => `${productType} up to ${isoTime(to)}`);
  return new ForeignKeyError(
    `this API key was not used for account ${account} before, and serves ${served} ` +
      `(${places.join(", ")}): it belongs to another account, and nothing was written. Put the ` +
      `key of account ${account} back, or give this one a name of its own (EXCHANGE_ACCOUNT, or ` +
      '"name" in ACCOUNTS_FILE); if it certainly is the same account, sync --new-key takes it',
  );
}

/** Asks again if an answer has no rows: exchanges sometimes serve a false empty answer. */
async function askTwice(
  ask: ProofDeps["ask"],
  productType: ProductType,
  question: () => BillsQuestion,
): Promise<readonly BillMark[]> {
  const first = await ask(productType, question);
  const { rows } = first.rows.length > 0 ? first : await ask(productType, question);
  const { read } = billsApiOf(productType);
  return rows.map(read).flatMap((reading) => ("bill" in reading ? [reading.bill] : []));
}
