import { type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { ExchangeError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import type { FetchedPage } from "./walk/page-request.ts";

export type AskBillsDeps = {
  readonly client: Client;
  /** @throws LeaseLostError where another run may have taken the account. */
  readonly assertHeld: () => void;
  /** Called after every request, with its failure if it failed. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
  /** Of the requests that wait for the rate limit, the one with the highest priority is sent first. Default 0. */
  readonly priority?: number;
};

/**
 * Asks for a page of bills, by the API that serves the product type.
 * @param question is called when the rate limit allows sending, and again for each retry.
 */
export async function askBills(
  { client, assertHeld, onAttempt, priority = 0 }: AskBillsDeps,
  productType: ProductType,
  question: () => BillsQuestion,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { operation, query, rowsName } = billsApiOf(productType);
  const options = { signal, beforeSend: assertHeld, onAttempt, priority };
  const { data, requestTime, written } = await client.ask(
    operation,
    () => query(question()),
    options,
  );
  return { ...data, requestTime, rowTexts: () => written([rowsName]) };
}
