import { pageSizeMax } from "../../src/contract/account-bills.ts";
import { loopByHand } from "./store-page.ts";

/* A loop with the bitget-api SDK. It has no rate limiter, so the requests are sequential. */

type Bill = {
  readonly billId: string;
  readonly amount: string;
  readonly fee: string;
  readonly cTime: string;
};
type RestClient = {
  getFuturesAccountBills(
    params: object,
  ): Promise<{ readonly data: { readonly bills: readonly Bill[]; readonly endId: string } }>;
};

const { env } = process;
// Not a dependency of the root package, so its types are missing unless the benchmark is run.
const { RestClientV2 } = (await import("bitget-api" as string)) as {
  RestClientV2: new (options: object) => RestClient;
};
const client = new RestClientV2({
  apiKey: env["EXCHANGE_API_KEY"],
  apiSecret: env["EXCHANGE_API_SECRET"],
  apiPass: env["EXCHANGE_API_PASSPHRASE"],
  baseUrl: env["EXCHANGE_BASE_URL"],
});

await loopByHand(async ({ productType, from, to }, idLessThan) => {
  const { data } = await client.getFuturesAccountBills({
    productType,
    startTime: String(from),
    endTime: String(to),
    limit: String(pageSizeMax),
    ...(idLessThan !== undefined && { idLessThan }),
  });
  return {
    rows: data.bills.map((bill) => ({
      id: bill.billId,
      time: Number(bill.cTime),
      amount: bill.amount,
      fee: bill.fee,
      raw: bill,
    })),
    next: data.bills.length < pageSizeMax ? undefined : data.endId,
  };
});
