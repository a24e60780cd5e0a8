import { type Command, Option } from "commander";
import { readConfig } from "../../config/config.ts";
import { productTypeOf } from "../../config/settings.ts";
import type { AddOptions } from "../change-accounts.ts";
import type { ListOptions } from "../listed-accounts.ts";
import {
  type ExitWith,
  jsonOption,
  offsetOf,
  type ProgramDeps,
  pageOf,
  productOption,
} from "./options.ts";

/** `accounts` and its subcommands. */
export function addAccountCommands(
  program: Command,
  { io, readEnvironment }: ProgramDeps,
  exitWith: ExitWith,
): void {
  const configOf = () => readConfig(readEnvironment(), { credentials: false });
  const named = (name: string, { product }: { readonly product?: string }) => ({
    name,
    product: product === undefined ? undefined : productTypeOf(product),
  });
  const list = async (options: ListOptions) => {
    const { listAccounts } = await import("../listed-accounts.ts");
    return listAccounts(configOf(), io, options);
  };
  const retire = async (name: string, options: { readonly product?: string }) => {
    const { retireAccount } = await import("../accounts.ts");
    return retireAccount(configOf(), io, named(name, options));
  };
  const unretire = async (name: string, options: { readonly product?: string }) => {
    const { unretireAccount } = await import("../accounts.ts");
    return unretireAccount(configOf(), io, named(name, options));
  };
  const add = async (name: string, options: AddOptions) => {
    const { addAccountCommand } = await import("../change-accounts.ts");
    return addAccountCommand(configOf(), io, name, options);
  };
  const pause = async (name: string) => {
    const { pauseAccount } = await import("../change-accounts.ts");
    return pauseAccount(configOf(), io, name);
  };
  const resume = async (name: string) => {
    const { resumeAccount } = await import("../change-accounts.ts");
    return resumeAccount(configOf(), io, name);
  };
  const rename = async (from: string, to: string) => {
    const { renameStored } = await import("../accounts.ts");
    return renameStored(configOf(), io, { from, to });
  };
  const accounts = program
    .command("accounts")
    .description("list, add, pause, retire or rename accounts");
  accounts
    .command("list")
    .description("list every account and product type that is configured or stored")
    .addOption(jsonOption("a table"))
    .option("--limit <number>", "show at most this many accounts", pageOf)
    .option("--offset <number>", "skip this many", offsetOf)
    .action(exitWith(list));
  accounts
    .command("add <name>")
    .description(
      "add an account, which the next sync reads; ACCOUNTS_FILE says where its secrets are",
    )
    .addOption(productOption())
    .option("--demo", "its key is for demo trading", false)
    .option("--ltv", "read its loan-to-value", false)
    .option("--risk-unit <id...>", "the risk units of a parent account")
    .action(exitWith(add));
  accounts
    .command("pause <name>")
    .description(
      "stop reading an account for now; the exchange deletes its bills after 90 days even so",
    )
    .action(exitWith(pause));
  accounts
    .command("resume <name>")
    .description("read an account again, from where its last sync ended")
    .action(exitWith(resume));
  accounts
    .command("retire <name>")
    .description(
      "stop reading an account for good; its history stays, and nothing counts as missing",
    )
    .addOption(oneProduct())
    .action(exitWith(retire));
  accounts
    .command("unretire <name>")
    .description("read an account again, from where its last sync ended")
    .addOption(oneProduct())
    .action(exitWith(unretire));
  accounts
    .command("rename <old> <new>")
    .description("rename an account in all tables")
    .action(exitWith(rename));
}

const oneProduct = () => new Option("--product <type>", "this product type only");
