import type pg from "pg";
import type { ProductType } from "../../src/contract/product-types.ts";
import { epochMs } from "../../src/contract/time.ts";
import { type AccountExchange, exchangeOf } from "../../src/exchange/session.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { secretsOf } from "../support/exchange-client.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import {
  type OpenTransactions,
  ProcessDatabase,
  type SerialIo,
  type Statements,
} from "./database.ts";
import type { DatabaseFault, KeyKind } from "./history.ts";
import { type NetworkEvents, networkOf } from "./network.ts";
import type { SimulatedProcess } from "./process.ts";

export type OutsideOptions = {
  readonly process: SimulatedProcess;
  readonly sandbox: Sandbox;
  /** Default its own. */
  readonly key?: KeyKind;
  readonly productTypes: readonly ProductType[];
  readonly time: VirtualClock;
  readonly pool: pg.Pool;
  readonly io: SerialIo;
  readonly transactions: OpenTransactions;
  readonly seed: string;
  readonly wayMs: () => number;
  readonly faults: readonly DatabaseFault[];
  readonly onDatabaseFault: (fault: DatabaseFault) => void;
};

/** What a process reaches outside of itself: its connections to the tables, and the exchange. */
export type Outside = {
  readonly database: ProcessDatabase;
  readonly exchange: AccountExchange;
};

export function outsideOf(
  options: OutsideOptions,
  events: NetworkEvents & {
    readonly beforeCommit?: (client: pg.PoolClient) => Promise<void>;
    readonly onCommit: (statements: Statements) => void;
  },
): Outside {
  const { process, sandbox, time, seed } = options;
  const { beforeCommit, onCommit } = events;
  const database = new ProcessDatabase({
    ...options,
    now: () => epochMs(Math.floor(time.now())),
    onFault: options.onDatabaseFault,
    ...(beforeCommit && { beforeCommit }),
    onCommit: (statements) => {
      if (!statements.every(isOfNoRow)) onCommit(statements);
    },
  });
  const exchange = exchangeOf(
    { baseUrl: new URL("http://127.0.0.1") },
    { credentials: credentialsOf(sandbox, options.key ?? "own") },
    {
      transport: networkOf(sandbox, time, process, options.wayMs, events),
      clock: process.clock,
      random: seededRandom(`${seed}/retries`),
    },
  );
  return { database, exchange };
}

/** Whether a statement reads, or takes the lease. */
const isOfNoRow = ([text]: Statements[number]): boolean =>
  /^\s*(?:begin|select|set local|commit)\b|\binsert into leases\b/.test(String(text));

/** Those of the simulated account, or of the one with the key's name. */
export const credentialsOf = ({ account, accounts }: Sandbox, key: KeyKind) =>
  secretsOf(accounts.find(({ name }) => name === key) ?? account);
