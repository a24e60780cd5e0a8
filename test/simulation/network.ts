import { parseExactJson } from "../../src/contract/json.ts";
import type { ProductType } from "../../src/contract/product-types.ts";
import type { HttpAnswer, Transport } from "../../src/exchange/transport.ts";
import { withLatency } from "../../src/sandbox/faults.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { carried } from "../support/carried-answer.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { SimulatedProcess } from "./process.ts";

/** A page as it reached the sync, row by row. */
export type ServedPage = {
  readonly productType: ProductType;
  readonly rows: readonly { readonly billId: unknown; readonly text: string }[];
};

export type NetworkEvents = {
  /** The page that holds the bill below which this request asks. */
  readonly onRequest: (behind: ServedPage | undefined) => void;
  readonly onPage: (page: ServedPage) => void;
  readonly trace: (line: string) => void;
};

/** Carries a process's requests to the sandbox, and looks at what is asked and answered. */
export function networkOf(
  sandbox: Sandbox,
  time: VirtualClock,
  process: SimulatedProcess,
  wayMs: () => number,
  { onRequest, onPage, trace }: NetworkEvents,
): Transport {
  const { sleep } = time.clock;
  const answer = withLatency(sandbox.answer, { there: wayMs, back: wayMs, sleep });
  const pages = new Map<string, ServedPage>();
  return ({ url, headers }) => {
    const query = Object.fromEntries(url.searchParams);
    const { productType, endTime, idLessThan } = query;
    return process.send(async (): Promise<HttpAnswer> => {
      trace(`${time.now()} asks ${url.search}`);
      onRequest(
        idLessThan === undefined ? undefined : pages.get(`${productType} ${endTime} ${idLessThan}`),
      );
      const given = await answer({
        method: "GET",
        path: url.pathname,
        query,
        headers,
        clientAddress: "127.0.0.1",
      });
      const arrived = await carried(given, sleep);
      trace(`${time.now()} gets ${arrived.status}, ${arrived.body.length} characters`);
      const page = servedPage(query, arrived);
      if (page !== undefined) {
        for (const { billId } of page.rows) pages.set(`${productType} ${endTime} ${billId}`, page);
        onPage(page);
      }
      return arrived;
    });
  };
}

/** The page of a good answer to a walk; what is no such answer is nothing that could be stored. */
function servedPage(
  { productType, endTime, limit }: Readonly<Record<string, string>>,
  { status, body }: HttpAnswer,
): ServedPage | undefined {
  if (status !== 200 || limit === undefined || endTime === undefined) return undefined;
  try {
    const { data } = parseExactJson(body) as {
      data: { bills: readonly unknown[] | null };
    };
    const rows = (data.bills ?? []).map((row) => ({
      billId: (row as { billId?: unknown } | null)?.billId,
      text: JSON.stringify(row),
    }));
    return { productType: productType as ProductType, rows };
  } catch {
    return undefined;
  }
}
