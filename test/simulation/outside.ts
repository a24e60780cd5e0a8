import { billsOperations } from "../../src/core/contract/bills-api.ts";
import { parseExactJson } from "../../src/core/contract/json.ts";
import type { ProductType } from "../../src/core/contract/product-types.ts";
import {
  type AccountExchange,
  type ExchangeAccess,
  openExchange,
} from "../../src/core/exchange/session.ts";
import type { HttpAnswer, Transport } from "../../src/core/exchange/transport.ts";
import { minuteMs } from "../../src/lib/time.ts";
import { seededRandom } from "../../src/wings/sandbox/random.ts";
import type { Sandbox } from "../exchange/sandbox.ts";
import { secretsOf } from "../support/exchange-client.ts";
import { sandboxTransport } from "../support/sandbox-transport.ts";
import { type DatabaseEvents, processDatabase, type Statements } from "./database.ts";
import type { DatabaseFault, KeyKind, ProcessFault } from "./history.ts";
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
): Outside & { readonly access: ExchangeAccess; readonly exchange: AccountExchange } {
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
  const access: ExchangeAccess = {
    transport: networkOf(world, process, events),
    clock: process.clock,
    random: seededRandom(`${world.history.seed} ${name}/retries`),
  };
  const exchange = openExchange(
    { baseUrl: new URL("http://127.0.0.1") },
    { credentials: credentialsOf(world.sandbox, key) },
    access,
  );
  return { process, database, access, exchange };
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

/** A page as the sync received it, row by row. */
export type ServedPage = {
  readonly productType: ProductType;
  readonly rows: readonly { readonly billId: unknown; readonly text: string }[];
};

type NetworkEvents = {
  /** The page with the bill below which this request asks. */
  readonly onRequest?: (behind: ServedPage | undefined) => void;
  readonly onPage?: (page: ServedPage) => void;
  /** Any rows of bills, also those of a question without times. */
  readonly onShown?: (page: ServedPage) => void;
};

/** Carries a process's requests to the sandbox, and checks requests and answers. */
function networkOf(
  { sandbox, time, wayMs, trace }: World,
  process: SimulatedProcess,
  { onRequest, onPage, onShown }: NetworkEvents,
): Transport {
  const carry = sandboxTransport(sandbox, time.clock.sleep, wayMs);
  const pages = new Map<string, { readonly page: ServedPage; readonly latestStart: number }>();
  return (request) => {
    const { url } = request;
    const query = Object.fromEntries(url.searchParams);
    const { startTime, endTime } = query;
    const productType = productTypeOf(query);
    const below = query["idLessThan"] ?? query["cursor"];
    return process.send(async () => {
      trace(`${time.now()} asks ${isForBills(url) ? "" : url.pathname}${url.search}`);
      const behind =
        below === undefined ? undefined : pages.get(`${productType} ${endTime} ${below}`);
      // The window beside it may ask for its own oldest millisecond, up to the same time and with the same bill. Only the
      // horizon moves a window's start.
      const isOfWindow = Number(startTime) - time.now() <= (behind?.latestStart ?? 0);
      onRequest?.(isOfWindow ? behind?.page : undefined);
      const arrived = await carry(request);
      trace(`${time.now()} gets ${arrived.status}, ${arrived.body.length} characters`);
      const page = isForBills(url) ? servedPage(query, arrived) : undefined;
      if (page !== undefined) onShown?.(page);
      if (page !== undefined && endTime !== undefined) {
        for (const { billId } of page.rows) {
          // If cursors are inclusive, the cursor's bill comes with the next page, which may be
          // requested again.
          const latestStart = Number(startTime) - time.now() + 10 * minuteMs;
          if (billId !== below)
            pages.set(`${productType} ${endTime} ${billId}`, { page, latestStart });
        }
        onPage?.(page);
      }
      return arrived;
    });
  };
}

const isForBills = ({ pathname }: URL): boolean =>
  billsOperations.some(({ path }) => path === pathname);

const productTypeOf = ({
  category,
  productType = `UTA-${category}`,
}: Readonly<Record<string, string>>) => productType as ProductType;

/** The page of a good answer to a walk. Other answers have nothing that could be stored. */
function servedPage(
  query: Readonly<Record<string, string>>,
  { status, body }: HttpAnswer,
): ServedPage | undefined {
  if (status !== 200 || query["limit"] === undefined) return undefined;
  try {
    const { data } = parseExactJson(body) as {
      data: Partial<Record<"bills" | "list", readonly unknown[] | null>>;
    };
    const rows = (data.bills ?? data.list ?? []).map((row) => {
      const { billId, id = billId } = (row ?? {}) as Readonly<Record<"billId" | "id", unknown>>;
      return { billId: id, text: JSON.stringify(row) };
    });
    return { productType: productTypeOf(query), rows };
  } catch {
    return undefined;
  }
}
