import { type Command, InvalidArgumentError, Option } from "commander";
import { dayMs, hourMs, minuteMs } from "../contract/time.ts";
import { asJson, asText, type Result } from "../output/result.ts";
import { type Config, narrowed, readConfig } from "../roster/config.ts";
import type { Environment } from "../roster/settings.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";

export type ProgramDeps = {
  readonly io: Io;
  /** The environment as npm run sets it; undefined if npm does not run the program. */
  readonly npm: Environment | undefined;
  /**
   * Called only by a command that needs the environment: help is shown even if the environment is
   * invalid.
   */
  readonly readEnvironment: () => Environment;
};

/** Runs a command and keeps its exit code. */
export type ExitWith = <Args extends unknown[]>(
  command: (...args: Args) => Promise<ExitCode>,
) => (...args: Args) => Promise<void>;

/** Adds a command's description of its arguments, options and action. */
export type Define = (command: Command, deps: ProgramDeps, exitWith: ExitWith) => void;

/** Prints a result, and returns its exit code. */
export function answer(io: Io, json: boolean, result: Result): ExitCode {
  if (json) printJson(io, asJson(result));
  else print(io, asText(result));
  return result.exit;
}

/** The options of a reporting command. */
export type Reporting = {
  readonly json: boolean;
  readonly account?: string[];
  readonly product?: string[];
  readonly only?: string[];
};

export const reporting = (command: Command): Command =>
  command.addOption(accountOption()).addOption(productOption()).addOption(jsonOption("a table"));

export const accountOption = () => new Option("--account <name...>", "these accounts only");
export const productOption = () => new Option("--product <type...>", "these product types only");
export const jsonOption = (otherwise: string) =>
  new Option("--json", "print the result as JSON").default(false, otherwise);

export const only = () =>
  new Option("--only <target...>", "only these targets: bills, ltv, symbols, contracts");

/** The configuration, narrowed to the accounts and product types that were typed. */
export const narrowedConfig = (
  readEnvironment: ProgramDeps["readEnvironment"],
  credentials: boolean,
  options: Reporting,
): Config =>
  narrowed(readConfig(readEnvironment(), { credentials, accounts: options.account }), {
    accounts: options.account ?? [],
    productTypes: options.product ?? [],
  });

export function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is not a port from 0 to 65535.");
}

const durationUnits: Readonly<Record<string, number>> = { m: minuteMs, h: hourMs, d: dayMs };

/** @returns milliseconds. */
export function durationOf(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,4})([mhd])$/.exec(text) ?? [];
  const unitMs = durationUnits[unit];
  if (unitMs !== undefined) return Number(count) * unitMs;
  throw new InvalidArgumentError("It is not a duration such as 90m, 3h or 2d.");
}

const pageMax = 10_000;

/** How many ledgers to show at once. */
export function pageOf(text: string): number {
  const count = Number(text);
  if (/^\d{1,5}$/.test(text) && count >= 1 && count <= pageMax) return count;
  throw new InvalidArgumentError(`It is not a number from 1 to ${pageMax}.`);
}

export function offsetOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is not a number of ledgers.");
}
