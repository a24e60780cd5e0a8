import { type Command, InvalidArgumentError, Option } from "commander";
import type { Config } from "../accounts/config.ts";
import { type Selection, selectedAccounts, selectionOf } from "../accounts/roster.ts";
import type { Environment } from "../accounts/settings.ts";
import type { Result } from "../output/result.ts";
import type { Io } from "./io.ts";

/** What the definition of a command has of the program. */
export type Program = {
  readonly io: Io;
  readonly readEnvironment: () => Environment;
  /** The configuration, without credentials unless they are asked for. */
  readonly config: (asked?: {
    readonly credentials?: boolean;
    readonly accounts?: readonly string[] | undefined;
  }) => Config;
  /** Runs a command, prints the result that it returns, and keeps its exit code. */
  readonly runs: <Args extends unknown[]>(
    command: (...args: Args) => Promise<Result>,
  ) => (...args: Args) => Promise<void>;
};

/** Adds a command's description of its arguments, options and action. */
export type Define = (command: Command, program: Program) => void;

/** The options by which most commands are narrowed. */
export type LedgerFlags = { readonly account?: string[]; readonly product?: string[] };

export const reporting = (command: Command): Command =>
  command.addOption(accountOption()).addOption(productOption()).addOption(jsonOption());

export const accountOption = () => new Option("--account <name...>", "these accounts only");
export const productOption = () => new Option("--product <type...>", "these product types only");

export const jsonOption = () => new Option("--json", "print the result as JSON");

export const formatOption = (about: string, formats: readonly string[]) =>
  new Option("--format <format>", `${about}: ${formats.join(", ")}`).choices(formats);

/**
 * What was typed of accounts and product types, for a command that asks the exchange.
 * @throws UsageError for what no account has, before anything is opened.
 */
export function selectedConfig(
  { config: configOf }: Pick<Program, "config">,
  credentials: boolean,
  which: LedgerFlags,
): { readonly config: Config; readonly selection: Selection } {
  const selection = selectionOf(which);
  const config = configOf({ credentials, accounts: selection.accounts });
  selectedAccounts(config, selection);
  return { config, selection };
}

/** A parser of numbers from `min` to `max`. */
export const numberFrom =
  (min: number, max: number) =>
  (text: string): number => {
    if (/^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It is not a number from ${min} to ${max}.`);
  };

export const portOf = numberFrom(0, 65_535);
