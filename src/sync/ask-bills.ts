import { type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { ExchangeError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import type { FetchedPage } from "./walk/page-request.ts";

export type AskBillsDeps = {
  readonly client: Client;
  /** @throws LeaseLostError where the account may be another's by now. */
  readonly assertHeld: () => void;
  /** Told of every request, and of its failure. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
  /** Of those that wait for the limit, the highest is sent first. Default 0. */
  readonly priority?: number;
};

/**
 * Asks for bills, by the API that serves the product type.
 * @param question is called for when its turn at the exchange has come, and again for a retry.
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
