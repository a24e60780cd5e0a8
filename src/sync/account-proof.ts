import { pageSizeMax } from "../contract/account-bills.ts";
import type { Bill } from "../contract/bill.ts";
import { type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import { type EpochMs, epochMs, hourMs, isoTime } from "../contract/time.ts";
import { ExchangeError, ForeignKeyError, KeyTakenError } from "../errors.ts";
import { type AccountMode, modeOf } from "./account-state.ts";
import { horizonAt } from "./plan.ts";
import type { Stream } from "./store.ts";
import type { FetchedPage } from "./walk/page-request.ts";

/**
 * A bill as far as it tells whose ledger it is of. Nobody promises that no id comes twice, and
 * funding falls on one millisecond in all accounts.
 */
export type BillMark = Pick<Bill, "billId" | "cTime" | "coin" | "amount" | "fee">;

/** The times of the oldest and newest bill that are stored of a stream. */
export type StoredSpan = {
  readonly productType: ProductType;
  readonly oldest: EpochMs;
  readonly newest: EpochMs;
};

/** What is stored, as far as it tells whose ledger a key reads. */
export type ProofStore = {
  /** Of each stream of an account that has bills since a time: the span of those. */
  spans(account: string, since: EpochMs): Promise<readonly StoredSpan[]>;
  /** Whether any bill of an account is stored, of whatever time. */
  hasBills(account: string): Promise<boolean>;
  /** How many of these are stored of a stream. */
  countStored(stream: Stream, bills: readonly BillMark[]): Promise<number>;
  /** Of which product types other accounts have bills. */
  productTypesOfOthers(account: string): Promise<readonly ProductType[]>;
  /** Another account of which one of these is stored. */
  otherAccount(stream: Stream, bills: readonly BillMark[]): Promise<string | undefined>;
};

export type ProofDeps = {
  readonly store: ProofStore;
  /** Calls for the question when its turn at the exchange has come, and again for a retry. */
  readonly ask: (productType: ProductType, question: () => BillsQuestion) => Promise<FetchedPage>;
  readonly exchangeNow: () => EpochMs;
};

/**
 * served: the key serves bills that are stored of the account · nothing-stored: there is none to
 * compare with · out-of-reach: there are, and none of them is within the exchange's 90 days
 */
export type Proof = "served" | "nothing-stored" | "out-of-reach";

// Each costs a request, or two. The second is for an exchange that was wrong once, and for a bill that it
// took back.
const stretchesMax = 2;
// What is about to leave the exchange's 90 days is no bill to ask for.
const reachMarginMs = hourMs;

/** An account as it is read now. */
export type ReadAccount = {
  readonly mode: AccountMode;
  readonly productTypes: readonly ProductType[];
};

/**
 * Finds out whether a key that was not used for an account before reads that account's ledger:
 * what is stored of the account must be served again.
 *
 * @throws ForeignKeyError where nothing of it is, or all is of the other mode, which cannot be served.
 * @throws KeyTakenError where what is served is stored as another account.
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

/** Time that is asked for, up to a bill that is stored and must be served. */
type Stretch = { readonly productType: ProductType; readonly from: EpochMs; readonly to: EpochMs };

/** Up to the newest bill of each product type; of one alone, up to the oldest bill too. */
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
    // By the exchange's clock, which its answer has told.
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

/** A new key and another mode at once: any unified account would pass for the one that was classic. */
const unprovable = (account: string, mode: AccountMode): ForeignKeyError =>
  new ForeignKeyError(
    `this API key was not used for account ${account} before, and reads a ${mode} account, which serves ` +
      `none of the bills that are stored of ${account}: nothing was written. Use the key that was used ` +
      `before, once; where it certainly is the same account, sync --new-key takes this one`,
  );

function foreignKey(account: string, compared: readonly Stretch[]): ForeignKeyError {
  const places = compared.map(({ productType, to }) => `${productType} up to ${isoTime(to)}`);
  return new ForeignKeyError(
    `this API key was not used for account ${account} before, and serves none of its bills that ` +
      `are stored (${places.join(", ")}): it belongs to another account, and nothing was written. Put the ` +
      `key of account ${account} back, or give this one a name of its own (EXCHANGE_ACCOUNT, or ` +
      '"name" in ACCOUNTS_FILE); where it certainly is the same account, sync --new-key takes it',
  );
}

/** Where bills are stored as another account, they would be stored twice. */
async function refuseOthers(
  { store, ask }: ProofDeps,
  account: string,
  productTypes: readonly ProductType[],
): Promise<void> {
  const ofOthers = await store.productTypesOfOthers(account);
  const shared = productTypes.filter((type) => ofOthers.includes(type)).slice(0, stretchesMax);
  for (const productType of shared) {
    const newest = await newestOf(ask, productType);
    const other = await store.otherAccount({ account, productType }, newest);
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
    // A key that may not read them stores none of them.
    if (isRefused(error)) return [];
    throw error;
  }
}

/** An answer without a row is believed when it comes twice: exchanges serve false ends. */
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

const isRefused = (error: unknown): error is ExchangeError =>
  error instanceof ExchangeError &&
  (error.kind === "refused-permission" || error.kind === "refused-request");
