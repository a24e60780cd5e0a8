import { pageSizeMax } from "../contract/account-bills.ts";
import type { Bill } from "../contract/bill.ts";
import { type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import { type EpochMs, epochMs, hourMs, isoTime } from "../contract/time.ts";
import { type ExchangeError, ForeignKeyError, isRefused, KeyTakenError } from "../errors.ts";
import { type AccountMode, modeOf } from "./account-state.ts";
import { horizonAt } from "./plan.ts";
import type { Stream } from "./store.ts";
import type { FetchedPage } from "./walk/page-request.ts";

/**
 * The fields by which a bill is recognised as one account's. The id alone is not enough, since nobody
 * guarantees that ids are unique across accounts. Nor is the time: funding has the same millisecond in all
 * accounts.
 */
export type BillMark = Pick<Bill, "billId" | "cTime" | "coin" | "amount" | "fee">;

/** The times of a stream's oldest and newest stored bills. */
export type StoredSpan = {
  readonly productType: ProductType;
  readonly oldest: EpochMs;
  readonly newest: EpochMs;
};

/** The questions to the database that a proof needs. */
export type ProofStore = {
  /** The span of the bills since a time, for each stream of an account that has any. */
  spans(account: string, since: EpochMs): Promise<readonly StoredSpan[]>;
  /** Whether any bill of an account is stored, however old. */
  hasBills(account: string): Promise<boolean>;
  /** How many of these bills are stored in a stream. */
  countStored(stream: Stream, bills: readonly BillMark[]): Promise<number>;
  /** The product types of which other accounts have bills. */
  productTypesOfOthers(account: string): Promise<readonly ProductType[]>;
  /** Another account that has one of these bills, if any. */
  otherAccount(stream: Stream, bills: readonly BillMark[]): Promise<string | undefined>;
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
 * - served: the key was served bills that are stored for the account.
 * - nothing-stored: the account has no stored bills to compare with.
 * - out-of-reach: the account has stored bills, but all are older than the exchange's 90 days.
 */
export type Proof = "served" | "nothing-stored" | "out-of-reach";

// Each stretch costs one or two requests. A second one is asked for in case the exchange answered wrongly once,
// or has withdrawn the bill.
const stretchesMax = 2;

/** How many of a new key's bills are looked up in other accounts. */
const comparedMax = 5;

// Bills that are about to leave the exchange's 90 days are not asked for.
const reachMarginMs = hourMs;

/** An account's mode, and the product types that are read in it. */
export type ReadAccount = {
  readonly mode: AccountMode;
  readonly productTypes: readonly ProductType[];
};

/**
 * Proves that a key that is new to an account reads that account's ledger: bills that are stored for the
 * account must be served again.
 *
 * @throws ForeignKeyError where none of them is served, or all are of the other mode, which cannot be served.
 * @throws KeyTakenError where the served bills are stored as another account's.
 * @throws ExchangeError where the key may read no product type of which bills are stored.
 */
export async function proveAccount(
  deps: ProofDeps,
  account: string,
  { mode, productTypes }: ReadAccount,
): Promise<Proof> {
  const { store, exchangeNow } = deps;
  const stored = await store.spans(account, horizonAt(exchangeNow(), reachMarginMs));
  const spans = stored.filter(({ productType }) => modeOf(productType) === mode);
  if (stored.length > 0 && spans.length === 0) throw unprovable(account, mode);
  const proof = await compareStretches(deps, account, stretchesOf(spans));
  if (proof !== "out-of-reach") return proof;
  await refuseOthers(deps, account, productTypes);
  return (await store.hasBills(account)) ? "out-of-reach" : "nothing-stored";
}

/** A stretch of time to ask for. It ends with a stored bill, which must be served. */
type Stretch = { readonly productType: ProductType; readonly from: EpochMs; readonly to: EpochMs };

/**
 * At most `stretchesMax` stretches. Each ends with the newest bill of a product type. If there is only one
 * product type, a second stretch ends with its oldest bill.
 */
function stretchesOf(spans: readonly StoredSpan[]): readonly Stretch[] {
  const newestFirst = spans.toSorted((a, b) => b.newest - a.newest);
  const upTo = (productType: ProductType, at: EpochMs): Stretch => {
    const to = epochMs(at + 1);
    return { productType, from: epochMs(to - billsApiOf(productType).windowMaxMs), to };
  };
  return [
    ...newestFirst.map(({ productType, newest }) => upTo(productType, newest)),
    ...newestFirst.slice(0, 1).map(({ productType, oldest }) => upTo(productType, oldest)),
  ].slice(0, stretchesMax);
}

async function compareStretches(
  deps: ProofDeps,
  account: string,
  stretches: readonly Stretch[],
): Promise<"served" | "out-of-reach"> {
  const { store, ask, exchangeNow } = deps;
  const isReached = ({ to }: Stretch) => to > horizonAt(exchangeNow()) + 1;
  let refusal: ExchangeError | undefined;
  const compared: Stretch[] = [];
  for (const stretch of stretches.filter(isReached)) {
    const { productType } = stretch;
    try {
      const bills = await askTwice(ask, productType, () => questionOf(stretch, exchangeNow()));
      if ((await store.countStored({ account, productType }, bills)) > 0) return "served";
    } catch (error) {
      if (!isRefused(error)) throw error;
      refusal = error;
      continue;
    }
    // Checked again, because the answer has set the exchange's clock.
    if (isReached(stretch)) compared.push(stretch);
  }
  if (compared.length > 0) throw foreignKey(account, compared);
  if (refusal !== undefined) throw refusal;
  return "out-of-reach";
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

function foreignKey(account: string, compared: readonly Stretch[]): ForeignKeyError {
  const places = compared.map(({ productType, to }) => `${productType} up to ${isoTime(to)}`);
  return new ForeignKeyError(
    `this API key was not used for account ${account} before, and serves none of its bills that ` +
      `are stored (${places.join(", ")}): it belongs to another account, and nothing was written. Put the ` +
      `key of account ${account} back, or give this one a name of its own (EXCHANGE_ACCOUNT, or ` +
      '"name" in ACCOUNTS_FILE); if it certainly is the same account, sync --new-key takes it',
  );
}

/** Refuses a key whose bills are stored as another account's: they would be stored twice. */
async function refuseOthers(
  { store, ask }: ProofDeps,
  account: string,
  productTypes: readonly ProductType[],
): Promise<void> {
  const ofOthers = await store.productTypesOfOthers(account);
  const shared = productTypes.filter((type) => ofOthers.includes(type)).slice(0, stretchesMax);
  for (const productType of shared) {
    const newest = await newestOf(ask, productType);
    // The other account may not have read the very newest yet. All of them, in each of many accounts, would be slow.
    const compared = newest.toSorted((a, b) => a.cTime - b.cTime).slice(0, comparedMax);
    const other = await store.otherAccount({ account, productType }, compared);
    if (other === undefined) continue;
    throw new KeyTakenError(
      `the bills that this API key serves are stored as account ${other}, and as ${account} they ` +
        `would be stored twice: two keys of one account need one name. Name the account ${other}; ` +
        "if they are certainly two accounts, sync --new-key takes the key",
    );
  }
}

async function newestOf(
  ask: ProofDeps["ask"],
  productType: ProductType,
): Promise<readonly BillMark[]> {
  try {
    return await askTwice(ask, productType, () => ({ limit: pageSizeMax }));
  } catch (error) {
    // A key that may not read these bills cannot store them twice.
    if (isRefused(error)) return [];
    throw error;
  }
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
