import {
  type Config,
  type DatabaseConfig,
  narrowed,
  readConfig,
  readDatabaseConfig,
} from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import { migrationState } from "../../db/migrate.ts";
import type { CommandDatabase } from "../../db/open.ts";
import { UsageError } from "../../errors.ts";
import { formatCounted } from "../../terminal/format.ts";
import { type ExitCode, type Io, print, printJson, tell as tellUser } from "../io.ts";
import { type Check, ok } from "./check.ts";
import { checkDatabase } from "./database.ts";
import { checkExchange } from "./exchange.ts";

export type DoctorOptions = { readonly json: boolean; readonly account?: readonly string[] };

/**
 * `doctor`: tries everything that a sync needs, and says what is wrong and what to do. It goes on
 * where a check fails, as far as the next ones can. Writes nothing to the database's tables
 * but its place beside the syncs of the accounts whose keys it tries.
 */
export async function doctorCommand(
  readEnvironment: () => Environment,
  io: Io,
  { json, account = [] }: DoctorOptions,
): Promise<ExitCode> {
  const checks: Check[] = [];
  const tell = (check: Check) => {
    checks.push(check);
    if (!json) print(io, lineOf(check));
  };
  const { config, database: where } = checkConfig(readEnvironment, tell);
  const wanted = config && narrowed(config, { accounts: account, productTypes: [] });
  await using database =
    where && (await checkDatabase(where, tell, (message) => tellUser(io, message)));
  if (wanted !== undefined) {
    await checkExchange(wanted, await migrated(database), tell, io.signal);
  }
  const isWell = checks.every(({ status }) => status !== "FAIL");
  if (json) printJson(io, { outcome: isWell ? "ok" : "FAIL", checks });
  return isWell ? 0 : 1;
}

const lineOf = ({ status, name, found, remedy }: Check): string =>
  `${status.padEnd(4)}  ${name.padEnd(15)}  ${found}${remedy === undefined ? "" : `; ${remedy}`}`;

type Read = {
  readonly config?: Config;
  readonly database?: DatabaseConfig;
};

/** Where it has faults, the database is still looked at if its own part has none. */
function checkConfig(readEnvironment: () => Environment, tell: (check: Check) => void): Read {
  const name = "config";
  let environment: Environment | undefined;
  try {
    environment = readEnvironment();
    const config = readConfig(environment, { credentials: true });
    tell(ok(name, `${formatCounted(config.accounts.length, "account")} configured`));
    checkAccountsFile(environment, config, tell);
    return { config, database: config.database };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    for (const found of error.faults) tell({ status: "FAIL", name, found });
  }
  try {
    return environment === undefined ? {} : { database: readDatabaseConfig(environment) };
  } catch (error) {
    // Its faults are among those that were told.
    if (error instanceof UsageError) return {};
    throw error;
  }
}

function checkAccountsFile(
  environment: Environment,
  { warnings }: Config,
  tell: (check: Check) => void,
): void {
  const name = "accounts file";
  const path = environment["ACCOUNTS_FILE"]?.trim();
  for (const found of warnings) tell({ status: "warn", name, found });
  if (path && warnings.length === 0) tell(ok(name, `${path} shows no credential to other users`));
}

/** A database whose tables can be read. */
async function migrated(database: CommandDatabase | undefined) {
  if (database === undefined) return undefined;
  const state = await migrationState(database.db).catch(() => undefined);
  return state?.pending === 0 ? database.db : undefined;
}
