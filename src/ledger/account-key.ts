import {
  type KeyState,
  type NamedKey,
  readKeyState,
  recordKey,
  recordProof,
  takeKey,
  type UnprovenKey,
} from "../db/accounts/account-keys.ts";
import { accountWith, openProofStore } from "../db/accounts/proof-store.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { type ExchangeError, KeyTakenError } from "../errors.ts";
import type { AccountExchange } from "../exchange/session.ts";
import type { BillMark } from "../sync/account-proof.ts";
import { type Proof, proveAccount, provenTimes } from "../sync/account-proof.ts";
import type { AccountMode } from "../sync/account-state.ts";
import type { PageCommit, Stream } from "../sync/store.ts";
import { askBills } from "../sync/stream-reader.ts";
import { beginCoverage } from "./record-time.ts";

/** The outcome of a proof: none is asked of a known key, nor of one for which the user vouched. */
type Outcome = Proof | "known" | "vouched";

export type KeyProofDeps = {
  readonly db: Database;
  readonly exchange: Pick<AccountExchange, "client" | "exchangeNow">;
  /** @throws LeaseLostError if another process may hold the account by now. */
  readonly assertHeld: () => void;
  readonly signal: AbortSignal;
  /** Called for every failed request. */
  readonly onFailure: (failure: ExchangeError) => void;
};

/**
 * Makes a key that is new for its account prove itself: see {@link proveAccount}. A known key costs
 * no request.
 *
 * @throws UsageError if the key belongs to another account.
 */
export async function proveKey(
  { db, exchange, assertHeld, signal, onFailure }: KeyProofDeps,
  named: NamedKey,
  mode: AccountMode,
): Promise<Outcome> {
  if (isKnown(await readKeyState(db, named))) return "known";
  const onAttempt = (failure: ExchangeError | undefined) => {
    if (failure !== undefined) onFailure(failure);
  };
  const { client, exchangeNow } = exchange;
  return proveAccount(
    {
      store: openProofStore(db),
      ask: (productType, question) =>
        askBills({ client, assertHeld, onAttempt }, productType, question, signal),
      exchangeNow,
    },
    named.account,
    mode,
  );
}

const isKnown = ({ fingerprint, isRecorded, unproven }: KeyState): boolean =>
  isRecorded || (unproven !== undefined && unproven.fingerprint === fingerprint);

/** A key that stores an account's rows. */
export class AccountKey {
  readonly #db: Database;
  readonly #named: NamedKey;
  #unproven: UnprovenKey | undefined;
  /** Whether bills that another account has are stored all the same. */
  #isVouched = false;
  #recorded: Promise<void> | undefined;
  readonly #servedTimes = new Set<number>();

  constructor(db: Database, named: NamedKey) {
    this.#db = db;
    this.#named = named;
  }

  /**
   * Makes it the key that reads the account. Call it before time is planned or a row is stored.
   * @param check fails the transaction where another run may hold the account.
   */
  async take(check: (tx: Transaction) => Promise<unknown>, proof: Outcome): Promise<void> {
    const state = await readKeyState(this.#db, this.#named);
    const { fingerprint, isRecorded, unproven } = state;
    const isReading = unproven !== undefined && unproven.fingerprint === fingerprint;
    this.#isVouched = proof === "vouched";
    if (isRecorded) this.#recorded = Promise.resolve();
    this.#unproven = isReading ? unproven : undefined;
    if (isReading || (isRecorded && unproven === undefined)) return;
    const isProven = isRecorded || proof === "served";
    const { account } = this.#named;
    const begin = (tx: Transaction, forgets: boolean) => beginCoverage(tx, account, forgets);
    this.#unproven = await takeKey(this.#db, { check, begin }, this.#named, isProven);
    if (isProven) await this.record();
  }

  /** Remembers that rows of the account are stored with this key. */
  record(): Promise<void> {
    this.#recorded ??= recordKey(this.#db, this.#named);
    return this.#recorded;
  }

  /**
   * Stores rows that the key was served. As long as it has proven nothing, bills of another account are refused.
   * @throws KeyTakenError
   */
  async store<Result>(
    { stream, bills, rejected }: Pick<PageCommit, "stream" | "bills" | "rejected">,
    write: () => Promise<Result>,
  ): Promise<Result> {
    if (bills.length + rejected.length === 0) return write();
    const unproven = this.#unproven;
    if (unproven !== undefined) await this.#refuseOthers(stream, bills, unproven);
    await this.record();
    const result = await write();
    if (unproven !== undefined) await this.#learn(stream, bills, unproven);
    return result;
  }

  async #learn(stream: Stream, bills: readonly BillMark[], unproven: UnprovenKey): Promise<void> {
    for (const { cTime } of bills) this.#servedTimes.add(cTime);
    if (this.#servedTimes.size < provenTimes || this.#unproven === undefined) return;
    this.#unproven = undefined;
    const { account } = this.#named;
    await recordProof(this.#db, account, unproven, true);
    // Only now: of two keys of one account that stored the same bills at the same time, one sees the other proven.
    try {
      await this.#refuseOthers(stream, bills, unproven);
    } catch (error) {
      await recordProof(this.#db, account, unproven, false);
      throw error;
    }
  }

  async #refuseOthers(
    stream: Stream,
    bills: readonly BillMark[],
    { since }: UnprovenKey,
  ): Promise<void> {
    if (this.#isVouched) return;
    const other = await accountWith(this.#db, stream, since, bills);
    if (other === undefined) return;
    const { account } = this.#named;
    throw new KeyTakenError(
      `the bills that this API key serves are stored as account ${other}, and as ${account} they ` +
        `would be stored twice: two keys of one account need one name. Name the account ${other}; ` +
        "if they are certainly two accounts, sync --new-key takes the key",
    );
  }
}

const proofTexts: Readonly<Record<Outcome, string | undefined>> = {
  known: undefined,
  vouched: undefined,
  // A new ledger has nothing to compare.
  "nothing-stored": undefined,
  served: "its API key is new and serves bills that are stored, so it belongs to the same account",
  "served-one":
    "its API key is new and serves the only stored bill that can be compared: it may belong to another " +
    "account that was given the same bonus",
  "out-of-reach":
    "its API key is new and is accepted without proof: all stored bills are older than the " +
    "exchange's 90 days",
};

/** What a user should know about the proof; undefined if there is nothing. */
export const proofText = (proof: Outcome): string | undefined => proofTexts[proof];
