import { randomUUID } from "node:crypto";
import type pg from "pg";
import { exchangeOf } from "../../src/commands/exchange.ts";
import type { ProductType } from "../../src/contract/product-types.ts";
import { epochMs, isoTime, minuteMs } from "../../src/contract/time.ts";
import { holdAccount } from "../../src/db/lease.ts";
import { openStore } from "../../src/db/store.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { Secret } from "../../src/secret.ts";
import { type AccountReport, syncAccount } from "../../src/sync/run.ts";
import type { HeldAccount, Store } from "../../src/sync/store.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { Write } from "./committed.ts";
import { ProcessDatabase, type SerialIo, type Statements } from "./database.ts";
import type { DatabaseFault } from "./history.ts";
import { type NetworkEvents, networkOf } from "./network.ts";
import type { SimulatedProcess } from "./process.ts";

export const settleLagMs = 10 * minuteMs;

export type SyncProcessOptions = {
  readonly process: SimulatedProcess;
  readonly sandbox: Sandbox;
  readonly productTypes: readonly ProductType[];
  readonly time: VirtualClock;
  readonly pool: pg.Pool;
  readonly io: SerialIo;
  readonly seed: string;
  readonly wayMs: () => number;
  readonly faults: readonly DatabaseFault[];
  readonly onDatabaseFault: (fault: DatabaseFault) => void;
  readonly events: NetworkEvents & {
    readonly onHeld: (epoch: number) => void;
    /** Called before the plan is recorded; the database's time stands still. */
    readonly onPlan: (write: Write & { kind: "plan" }) => Promise<void>;
    /** Called when the server has committed a write. */
    readonly onCommit: (write: Write) => void;
  };
};

export type SyncProcess = {
  readonly database: ProcessDatabase;
  /** The report, or "killed". */
  readonly ended: Promise<AccountReport | "killed">;
};

/** Starts the real sync of the sandbox's account in a simulated process. */
export function startSync(options: SyncProcessOptions): SyncProcess {
  const { process, sandbox, time, pool, io, events, seed } = options;
  const writes: Write[] = [];
  const database = new ProcessDatabase({
    pool,
    io,
    process,
    now: () => epochMs(Math.floor(time.now())),
    faults: options.faults,
    onFault: options.onDatabaseFault,
    onCommit: (statements) => {
      const written = committedOf(writes, statements);
      if (written.length === 0) throw new Error("the server committed what nobody wrote");
      for (const write of written) events.onCommit(write);
    },
  });
  const db = database.asDatabase();
  const { account } = sandbox;
  const way = {
    transport: networkOf(sandbox, time, process, options.wayMs, events),
    clock: process.clock,
    random: seededRandom(`${seed}/retries`),
  };
  const hold = async (): Promise<HeldAccount & AsyncDisposable> => {
    const { clock, signal } = process;
    const lease = await holdAccount(db, account.name, { clock, signal });
    events.onHeld(lease.epoch);
    const store = watched(openStore(db, lease, randomUUID()), writes, events.onPlan);
    return { ...lease, store };
  };
  const sync = syncAccount(
    {
      exchangeOf: () =>
        exchangeOf(
          { baseUrl: new URL("http://127.0.0.1"), locale: "en-US" },
          { credentials: credentialsOf(sandbox) },
          way,
        ),
      holdAccount: hold,
      settleLagMs,
      signal: process.signal,
      onProgress: () => undefined,
      onFailure: () => undefined,
    },
    { name: account.name, productTypes: options.productTypes },
  );
  return { database, ended: Promise.race([sync, process.died.then(() => "killed" as const)]) };
}

/**
 * Which of the writes that are under way a transaction held, told by its statements' values. Pages
 * that wait go together, each of another window; anything else goes alone, in the order in which it
 * was asked for.
 */
function committedOf(writes: readonly Write[], statements: Statements): readonly Write[] {
  const [first] = writes;
  if (first === undefined || first.kind !== "page") return writes.slice(0, 1);
  const windows = new Set(statements.flatMap(windowsOf));
  return writes.filter((write) => {
    if (write.kind !== "page") return false;
    const { stream, window } = write.page;
    return windows.has([stream.productType, isoTime(window.from), isoTime(window.to)].join(" "));
  });
}

/** The windows that a statement names: those that go on in columns, one that ends by itself. */
function windowsOf(values: readonly unknown[]): readonly string[] {
  const columns = values.flatMap((value) =>
    typeof value === "string" && value.startsWith("{") ? [value.slice(1, -1).split(",")] : [],
  );
  const [, productTypes = [], starts = [], ends = []] = columns.map((column) =>
    column.map((element) => element.replaceAll('"', "")),
  );
  const going = productTypes.map((name, row) => [name, starts[row], ends[row]].join(" "));
  const ending = values.map((_, place) => values.slice(place, place + 3).join(" "));
  return [...going, ...ending];
}

const credentialsOf = ({ account }: Sandbox) => ({
  key: new Secret(account.apiKey),
  secret: new Secret(account.apiSecret),
  passphrase: new Secret(account.apiPassphrase),
});

/** The store, with each write noted from when it is asked for until it is over. */
function watched(
  store: Store,
  writes: Write[],
  onPlan: SyncProcessOptions["events"]["onPlan"],
): Store {
  const noted = async <T>(write: Write, act: () => Promise<T>): Promise<T> => {
    writes.push(write);
    try {
      return await act();
    } finally {
      writes.splice(writes.indexOf(write), 1);
    }
  };
  return {
    ...store,
    async recordPlan(plan) {
      const write = { kind: "plan", plan } as const;
      await onPlan(write);
      return noted(write, () => store.recordPlan(plan));
    },
    commitPage: (page) => noted({ kind: "page", page }, () => store.commitPage(page)),
    divideWindow: (...given) => noted({ kind: "division" }, () => store.divideWindow(...given)),
  };
}
