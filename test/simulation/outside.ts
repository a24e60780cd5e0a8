import type { AccountExchange } from "../../src/exchange/session.ts";
import { exchangeOf } from "../../src/exchange/session.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { secretsOf } from "../support/exchange-client.ts";
import { type DatabaseEvents, processDatabase, type Statements } from "./database.ts";
import type { DatabaseFault, KeyKind, ProcessFault } from "./history.ts";
import { type NetworkEvents, networkOf } from "./network.ts";
import { type SimulatedProcess, startProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Called with each fault, and with the process and the database that it struck. */
export type OnFault = (fault: ProcessFault, struck: Outside) => void;

type Outside = {
  readonly process: SimulatedProcess;
  readonly database: ReturnType<typeof processDatabase>;
};

/** A simulated process, its connections to the tables, and the exchange as it sees it. */
export function openProcess(
  world: World,
  options: {
    readonly name: string;
    readonly key?: KeyKind;
    readonly aheadMs: number;
    readonly faults: readonly ProcessFault[];
    readonly databaseFaults?: readonly DatabaseFault[];
    readonly onFault: OnFault;
  },
  events: NetworkEvents & DatabaseEvents,
): Outside & { readonly exchange: AccountExchange } {
  const { name, key = "own", aheadMs, faults, databaseFaults = [], onFault } = options;
  const process: SimulatedProcess = startProcess(world.time, aheadMs, faults, (fault) => {
    world.trace(`${world.time.now()} ${name}: ${fault.kind}`);
    onFault(fault, { process, database });
  });
  const database = processDatabase(world, process, databaseFaults, {
    ...events,
    onCommit: (statements) => {
      if (!statements.every(isOfNoRow)) events.onCommit(statements);
    },
  });
  const exchange = exchangeOf(
    { baseUrl: new URL("http://127.0.0.1") },
    { credentials: credentialsOf(world.sandbox, key) },
    {
      transport: networkOf(world, process, events),
      clock: process.clock,
      random: seededRandom(`${world.history.seed} ${name}/retries`),
    },
  );
  return { process, database, exchange };
}

/** Whether a statement reads, or takes the lease. */
const isOfNoRow = ([text]: Statements[number]): boolean =>
  /^\s*(?:begin|select|set local|commit)\b|\binsert into leases\b/.test(String(text));

/** Those of the simulated account, or of the one with the key's name. */
export const credentialsOf = ({ account, accounts }: Sandbox, key: KeyKind) =>
  secretsOf(accounts.find(({ name }) => name === key) ?? account);

/** What is done is among those under way from its request until it is over. */
export async function noted<Item, T>(
  underWay: Item[],
  item: Item,
  act: () => Promise<T>,
): Promise<T> {
  underWay.push(item);
  try {
    return await act();
  } finally {
    underWay.splice(underWay.indexOf(item), 1);
  }
}
