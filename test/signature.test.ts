import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { signature } from "../src/core/contract/signature.ts";
import { acceptedSignatures } from "../src/core/server/authenticate.ts";

// Two public clients of the API and a plain HMAC agree on these signatures.
const vectors = [
  {
    title: "six parameters, in no order",
    path: "/api/v2/mix/account/bill",
    query: {
      startTime: "1699395200000",
      productType: "USDT-FUTURES",
      onlyFunding: "no",
      limit: "100",
      idLessThan: "1098396773329305606",
      endTime: "1700000000000",
    },
    sign: "eKKqJA2FJg9NVb7grHGSm5Hhv39u6X5ZGPpA5MmAejI=",
  },
  {
    title: "no query",
    path: "/api/v2/spot/ins-loan/ltv-convert",
    query: {},
    sign: "sLo4H2l0ZTZ6lPkJnvYRrmmO0bd5mJNFzKnO9yd9Ypk=",
  },
];

test.each(vectors)("the recorded signature of $title comes out and is accepted", (vector) => {
  const { path, query, sign } = vector;
  const request = { timestamp: "1700000000000", path };
  expect(signature("secret", { ...request, query })).toBe(sign);
  const sentQuery = new URLSearchParams(query).toString();
  expect(acceptedSignatures("secret", { ...request, sentQuery })).toContain(sign);
});

test("values are signed as they are, not as the URL spells them", () => {
  const query = { symbol: "BTC/USDT 永續", coin: "a&b=c" };
  const message = "1GET/path?coin=a&b=c&symbol=BTC/USDT 永續";
  const expected = createHmac("sha256", "secret").update(message).digest("base64");
  expect(signature("secret", { timestamp: "1", path: "/path", query })).toBe(expected);
});
