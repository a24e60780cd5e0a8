import { billsOperations } from "../../src/contract/bills-api.ts";
import { parseExactJson } from "../../src/contract/json.ts";
import type { ProductType } from "../../src/contract/product-types.ts";
import type { HttpAnswer, Transport } from "../../src/exchange/transport.ts";
import { sandboxTransport } from "../support/sandbox-transport.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** A page as the sync received it, row by row. */
export type ServedPage = {
  readonly productType: ProductType;
  readonly rows: readonly { readonly billId: unknown; readonly text: string }[];
};

export type NetworkEvents = {
  /** The page with the bill below which this request asks. */
  readonly onRequest?: (behind: ServedPage | undefined) => void;
  readonly onPage?: (page: ServedPage) => void;
  /** Any rows of bills, also those of a question without times. */
  readonly onShown?: (page: ServedPage) => void;
};

/** Carries a process's requests to the sandbox, and checks requests and answers. */
export function networkOf(
  { sandbox, time, wayMs, trace }: World,
  process: SimulatedProcess,
  { onRequest, onPage, onShown }: NetworkEvents,
): Transport {
  const carry = sandboxTransport(sandbox, time.clock.sleep, wayMs);
  const pages = new Map<string, ServedPage>();
  return (request) => {
    const { url } = request;
    const query = Object.fromEntries(url.searchParams);
    const { endTime } = query;
    const productType = productTypeOf(query);
    const below = query["idLessThan"] ?? query["cursor"];
    return process.send(async () => {
      trace(`${time.now()} asks ${isForBills(url) ? "" : url.pathname}${url.search}`);
      onRequest?.(
        below === undefined ? undefined : pages.get(`${productType} ${endTime} ${below}`),
      );
      const arrived = await carry(request);
      trace(`${time.now()} gets ${arrived.status}, ${arrived.body.length} characters`);
      const page = isForBills(url) ? servedPage(query, arrived) : undefined;
      if (page !== undefined) onShown?.(page);
      if (page !== undefined && endTime !== undefined) {
        for (const { billId } of page.rows) {
          // If cursors are inclusive, the cursor's bill comes with the next page, which may be
          // requested again.
          if (billId !== below) pages.set(`${productType} ${endTime} ${billId}`, page);
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
