import { accountBills } from "../contract/account-bills.ts";
import type { Query } from "../contract/operation.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { ExchangeError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import type { FetchedPage, PageRequest } from "./walk/page-request.ts";

export type AskBillsDeps = {
  readonly client: Client;
  /** @throws LeaseLostError where the account may be another's by now. */
  readonly assertHeld: () => void;
  /** Told of every request, and of its failure. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
  /** Of those that wait for the limit, the highest is sent first. Default 0. */
  readonly priority?: number;
};

/** Asks for bills. */
export async function askBills(
  { client, assertHeld, onAttempt, priority = 0 }: AskBillsDeps,
  query: Query | (() => Query),
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { data, requestTime, written } = await client.ask(accountBills, query, {
    signal,
    beforeSend: assertHeld,
    onAttempt,
    priority,
  });
  return { ...data, requestTime, rowTexts: () => written(["bills"]) };
}

/** A page's request as the exchange takes it. */
export function pageQuery(productType: ProductType, request: PageRequest): Query {
  return {
    productType,
    startTime: String(request.startTime),
    endTime: String(request.endTime),
    limit: String(request.limit),
    ...(request.idLessThan === undefined ? {} : { idLessThan: request.idLessThan }),
  };
}
