import { Client } from "pg";
import { type Database, type OpenDatabase, openDatabase } from "../../src/core/postgres/connect.ts";
import { rebuildDays } from "../../src/core/store/differing-days.ts";
import type { Databases } from "../backfill/databases.ts";
import { median } from "../result.ts";
import { chainedLedger } from "./chained-ledger.ts";
import { backendOf, serverCpuMs } from "./server-cpu.ts";

/** How long a query took, and the server's CPU for it; NaN if the server is on another machine. */
export type Taken = { readonly ms: number; readonly cpuMs: number };

/** A database with bills and their stored days, and how long its statements take. */
export class DaySubject implements AsyncDisposable {
  readonly db: Database;
  /** The cost of adding all days up. */
  readonly storedIn: Taken;
  readonly #client: Client;
  readonly #open: OpenDatabase;
  readonly #cpuMs: () => number;

  private constructor(client: Client, open: OpenDatabase, cpuMs: () => number, storedIn: Taken) {
    this.#client = client;
    this.#open = open;
    this.#cpuMs = cpuMs;
    this.db = open.db;
    this.storedIn = storedIn;
  }

  /** @param everySeconds the time between two bills of the four ledgers together. */
  static async open(databases: Databases, bills: number, everySeconds = 25): Promise<DaySubject> {
    const url = await databases.fresh();
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(chainedLedger(bills, everySeconds));
    await client.query("vacuum analyze bills");
    const open = openDatabase(url);
    const subject = new DaySubject(
      client,
      open,
      await backendOf(client),
      await stored(open.db, client),
    );
    await client.query("vacuum analyze");
    return subject;
  }

  async run(statement: string): Promise<void> {
    await this.#client.query(statement);
  }

  /** The median round. All columns are computed, and no row is sent. */
  async timeOf(query: string, rounds: number): Promise<Taken> {
    const taken: Taken[] = [];
    for (let round = 0; round < rounds; round++) {
      const [startedAt, cpuBefore] = [performance.now(), this.#cpuMs()];
      await this.#client.query(`select count(v::text) from (${query}) as v`);
      taken.push({ ms: performance.now() - startedAt, cpuMs: this.#cpuMs() - cpuBefore });
    }
    return { ms: median(taken.map(({ ms }) => ms)), cpuMs: median(taken.map((one) => one.cpuMs)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
    await this.#open[Symbol.asyncDispose]();
  }
}

async function stored(db: Database, client: Client): Promise<Taken> {
  const [startedAt, cpuBefore] = [performance.now(), await serverCpuMs(client)];
  await rebuildDays(db, "main");
  const ms = performance.now() - startedAt;
  return { ms, cpuMs: (await serverCpuMs(client)) - cpuBefore };
}
