import {
  accountsOfUser,
  type NamedKey,
  readKeyState,
  recordKey,
  recordProof,
  refuseTakenKey,
  refuseTakenUser,
  takeKey,
  type UnprovenKey,
  type User,
} from "../db/accounts/account-keys.ts";
import { accountWith, openProofStore } from "../db/accounts/proof-store.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { type ExchangeError, ForeignKeyError, KeyTakenError } from "../errors.ts";
import type { AccountExchange } from "../exchange/session.ts";
import type { BillMark } from "../sync/account-proof.ts";
import { type Proof, proveAccount, provenTimes } from "../sync/account-proof.ts";
import type { KeyAnswer, PageCommit, Stream } from "../sync/store.ts";
import { askBills } from "../sync/stream-reader.ts";
import { beginCoverage } from "./record-time.ts";

/** The outcome of a proof: none is asked of a known key or user, nor of a key for which the user of this program vouched. */
type Outcome = Proof | "known" | "vouched";

export type KeyProofDeps = {
  readonly exchange: Pick<AccountExchange, "client" | "exchangeNow">;
  /** @throws LeaseLostError if another process may hold the account by now. */
  readonly assertHeld: () => void;
  readonly signal: AbortSignal;
  /** Called for every failed request. */
  readonly onFailure: (failure: ExchangeError) => void;
};

/** Whether no run has read the account with the key, and what a user should know about its proof. */
export type KeyProof = { readonly isNew: boolean; readonly text: string | undefined };

/** The key with which an account is read, and what decides whether it may be. */
export class AccountKey {
  readonly #db: Database;
  readonly #named: NamedKey;
  readonly #isDemo: boolean;
  #user: User | undefined;
  #outcome: Outcome = "known";
  #unproven: UnprovenKey | undefined;
  #recorded: Promise<void> | undefined;
  readonly #servedTimes = new Set<number>();

  /** @param isDemo whether it is of demo trading, whose ledgers have the names of real ones. */
  constructor(db: Database, named: NamedKey, isDemo = false) {
    this.#db = db;
    this.#named = named;
    this.#isDemo = isDemo;
  }

  /**
   * Before the exchange is asked. Writes nothing.
   * @throws KeyTakenError where rows were stored under another name with this key.
   */
  refuseTaken(): Promise<void> {
    return refuseTakenKey(this.#db, this.#named);
  }

  /**
   * Decides whether the key is this account's: by the user that the exchange tells; where it tells none, a key that is
   * new must serve stored bills: see {@link proveAccount}. Writes nothing.
   *
   * @param isVouched whether it is taken without proof.
   * @throws UsageError if the key belongs to another account, or to one that has another name here.
   */
  async prove(
    deps: KeyProofDeps,
    { mode, info, productTypes }: KeyAnswer,
    isVouched = false,
  ): Promise<KeyProof> {
    const { account } = this.#named;
    const state = await readKeyState(this.#db, this.#named);
    const told = info instanceof Error ? null : info.userId;
    if (told !== null) {
      const user = { userId: this.#isDemo ? `demo ${told}` : told, productTypes };
      await refuseTakenUser(this.#db, account, user);
      if (!isVouched) refuseOtherUser(account, state.userId, user.userId);
      this.#user = user;
    }
    const { fingerprint, isRecorded, unproven } = state;
    const isNew = !isRecorded && (unproven === undefined || unproven.fingerprint !== fingerprint);
    const isKnown = !isNew || (state.userId !== undefined && this.#user?.userId === state.userId);
    if (isVouched || isKnown) this.#outcome = isVouched ? "vouched" : "known";
    else this.#outcome = await this.#proveByBills(deps, { mode, info });
    return { isNew, text: proofTexts[this.#outcome] };
  }

  async #proveByBills(
    { exchange, assertHeld, signal, onFailure }: KeyProofDeps,
    { mode, info }: Pick<KeyAnswer, "mode" | "info">,
  ): Promise<Proof> {
    // The next run may be told.
    if (info instanceof Error && isPassing(info)) throw info;
    const onAttempt = (failure: ExchangeError | undefined) => {
      if (failure !== undefined) onFailure(failure);
    };
    const { client, exchangeNow } = exchange;
    return proveAccount(
      {
        store: openProofStore(this.#db),
        ask: (productType, question) =>
          askBills({ client, assertHeld, onAttempt }, productType, question, signal),
        exchangeNow,
      },
      this.#named.account,
      mode,
    );
  }

  /**
   * Makes it the key that reads the account. Call it after `prove`, before time is planned or a row is stored.
   * @param check fails the transaction where another run may hold the account.
   */
  async take(check: (tx: Transaction) => Promise<unknown>): Promise<void> {
    const { isRecorded } = await readKeyState(this.#db, this.#named);
    if (isRecorded) this.#recorded = Promise.resolve();
    const isProven = this.#user !== undefined || isRecorded || this.#outcome === "served";
    const { account } = this.#named;
    this.#unproven = await takeKey(this.#db, this.#named, {
      check,
      begin: (tx, forgets) => beginCoverage(tx, account, forgets),
      isProven,
      user: this.#user,
    });
    if (isProven) await this.record();
  }

  /** The user, and the accounts of his here, where there are others beside this one. Call it after `take`. */
  async sharedUser(): Promise<{ uid: string; accounts: readonly string[] } | undefined> {
    if (this.#user === undefined) return undefined;
    const accounts = await accountsOfUser(this.#db, this.#user.userId);
    return accounts.length > 1 ? { uid: this.#user.userId, accounts } : undefined;
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
    if (this.#outcome === "vouched") return;
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

const isPassing = ({ kind }: ExchangeError): boolean =>
  kind === "unavailable" || kind === "rate-limited" || kind === "clock";

function refuseOtherUser(account: string, stored: string | undefined, told: string): void {
  if (stored === undefined || stored === told) return;
  throw new ForeignKeyError(
    `this API key is user ${told}'s, and account ${account} is user ${stored}'s: it belongs to another account, ` +
      `and nothing was written. Put the key of account ${account} back, or give this one a name of its own ` +
      `(EXCHANGE_ACCOUNT, or "name" in ACCOUNTS_FILE); if ${account} was read with a wrong key until now, ` +
      "sync --new-key takes this one and reads its time again",
  );
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
