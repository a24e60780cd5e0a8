import type pg from "pg";
import type { ProductType } from "../../src/contract/product-types.ts";
import { Leases } from "../../src/db/lease/leases.ts";
import { openVerifyStore } from "../../src/ledger/ledger-store.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import type { Ledger, ReadRows, VerifyStore } from "../../src/sync/store.ts";
import {
  type Difference,
  type LedgerVerification,
  ledgerVerifiers,
  type VerifyDeps,
  verifyBills,
} from "../../src/sync/verify.ts";
import type { WrittenBill } from "./committed.ts";
import type { ProcessDatabase } from "./database.ts";
import { type OutsideOptions, outsideOf } from "./outside.ts";

export type Repaired = {
  /** The rows that were compared. */
  readonly rows: ReadRows & { readonly ledger: Ledger };
  /** The rows that the transaction wrote, as the database reports them. */
  readonly written: readonly WrittenBill[];
};

export type VerifyProcessOptions = OutsideOptions & {
  readonly span: Interval;
  readonly repair: boolean;
  readonly trace: (line: string) => void;
  /** Called when the server has committed a repair. */
  readonly onRepaired: (repaired: Repaired) => void;
};

export type VerifyOutcome = {
  readonly differences: readonly Difference[];
  readonly ledgers: readonly LedgerVerification[];
  /** Why the account was not verified at all. */
  readonly error: unknown;
};

export type VerifyProcess = {
  readonly database: ProcessDatabase;
  readonly ended: Promise<VerifyOutcome | "killed">;
};

/** Starts the real verification of the sandbox's account in a simulated process. */
export function startVerify(options: VerifyProcessOptions): VerifyProcess {
  const { process, sandbox, productTypes, span, repair, trace, onRepaired } = options;
  const { account } = sandbox;
  const pages: Repaired["rows"][] = [];
  let written: readonly WrittenBill[] = [];
  const { database, exchange } = outsideOf(options, {
    onRequest: () => undefined,
    onPage: () => undefined,
    trace,
    async beforeCommit(client) {
      written = await readWritten(client, account.name);
    },
    onCommit() {
      const [rows] = pages;
      if (rows === undefined) throw new Error("the server committed what nobody wrote");
      onRepaired({ rows, written });
    },
  });
  const verify = async (): Promise<VerifyOutcome> => {
    const db = database.asDatabase();
    const { clock, signal } = process;
    try {
      await using lease = await new Leases(db, { clock }).take(account.name, { signal });
      const deps: VerifyDeps = {
        client: exchange.client,
        exchangeNow: exchange.exchangeNow,
        assertHeld: lease.assertHeld,
        store: noting(openVerifyStore(db, lease), pages),
        ...{ span, repair, signal, sleep: clock.sleep },
        onProgress: () => undefined,
      };
      const ledgers = await verifyBills(
        deps,
        productTypes.map(ledgerVerifiers(deps, account.name)),
      );
      return {
        differences: ledgers.flatMap(({ differences }) => differences),
        ledgers,
        error: undefined,
      };
    } catch (error) {
      return { differences: [], ledgers: [], error };
    }
  };
  return { database, ended: Promise.race([verify(), process.died.then(() => "killed" as const)]) };
}

/** The store. Each page is recorded from its request until it is over. */
function noting(store: VerifyStore, pages: Repaired["rows"][]): VerifyStore {
  const noted = async <T>(page: Repaired["rows"], act: () => Promise<T>): Promise<T> => {
    pages.push(page);
    try {
      return await act();
    } finally {
      pages.splice(pages.indexOf(page), 1);
    }
  };
  return {
    ...store,
    compare: (ledger, rows, isRepaired) =>
      noted({ ledger, bills: [], rejected: [] }, () => store.compare(ledger, rows, isRepaired)),
    repair: (ledger, rows) => noted({ ledger, ...rows }, () => store.repair(ledger, rows)),
  };
}

async function readWritten(
  client: pg.PoolClient,
  account: string,
): Promise<readonly WrittenBill[]> {
  const { rows } = await client.query<WrittenBill & { productType: ProductType }>(
    `
    select
      product_type as "productType",
      bill_id as "billId",
      symbol
    from bills
    where account = $1
      and xmin = pg_current_xact_id()::xid
    order by product_type, bill_id`,
    [account],
  );
  return rows;
}
