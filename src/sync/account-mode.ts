import { AccountInTransitError, ExchangeError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import type { AccountMode } from "./account-state.ts";

/** How an account is asked for its mode. Each throws as the client does. */
export type ModeQuestions = {
  /** Asks the classic API anything; what it answers of it is no matter. */
  readonly classic: () => Promise<void>;
  /** @returns the `accountMode` of the settings that the API of unified accounts keeps. */
  readonly settings: () => Promise<string>;
};

const unifiedWords: readonly string[] = ["unified", "hybrid"];

/**
 * Finds out which API serves an account: each refuses an account of the other kind by codes of its own.
 * Nothing else that they refuse says anything about the mode.
 *
 * @param last what the last run was told: its API is asked first.
 * @throws AccountInTransitError where the account is between the two, or in a mode that is not known.
 * @throws ExchangeError where an API refuses for another reason.
 */
export async function askMode(
  ask: ModeQuestions,
  account: string,
  last: AccountMode | undefined,
): Promise<AccountMode> {
  const order =
    last === "unified" ? (["unified", "classic"] as const) : (["classic", "unified"] as const);
  for (const mode of order) {
    if (await isServed(ask, account, mode)) return mode;
  }
  throw new AccountInTransitError(
    account,
    "each of the exchange's two APIs says that the other serves it",
  );
}

async function isServed(ask: ModeQuestions, account: string, mode: AccountMode): Promise<boolean> {
  try {
    if (mode === "classic") {
      await ask.classic();
      return true;
    }
    const word = await ask.settings();
    if (unifiedWords.includes(word)) return true;
    throw new AccountInTransitError(
      account,
      `the exchange calls its mode "${printableLine(word)}"`,
    );
  } catch (error) {
    if (error instanceof ExchangeError && error.kind === "other-mode") return false;
    throw error;
  }
}
