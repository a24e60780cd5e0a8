import { isKnownKey, type NamedKey } from "../db/accounts/account-keys.ts";
import { openProofStore } from "../db/accounts/proof-store.ts";
import type { Database } from "../db/connect.ts";
import type { ExchangeError } from "../errors.ts";
import { type Proof, proveAccount, type ReadAccount } from "../sync/account-proof.ts";
import { askBills } from "../sync/ask-bills.ts";
import type { AccountExchange } from "./exchange-session.ts";

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
  { account, key }: NamedKey,
  read: ReadAccount,
): Promise<Proof | "known"> {
  if (await isKnownKey(db, { account, key })) return "known";
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
    account,
    read,
  );
}

const proofTexts: Readonly<Record<Proof | "known", string | undefined>> = {
  known: undefined,
  // A new ledger has nothing to compare.
  "nothing-stored": undefined,
  served: "its API key is new and serves bills that are stored, so it belongs to the same account",
  "out-of-reach":
    "its API key is new and is accepted without proof: all stored bills are older than the " +
    "exchange's 90 days",
};

/** What a user should know about the proof; undefined if there is nothing. */
export const proofText = (proof: Proof | "known"): string | undefined => proofTexts[proof];
