import { signatureOf } from "../contract/signature.ts";

/**
 * Every ACCESS-SIGN that the exchange accepts for a request. Real clients sign the query in four ways: as it was
 * sent or sorted by key, and each of these percent-encoded or decoded. Read in bitget-api, ccxt and Hummingbot.
 *
 * @param request its `sentQuery` is what stood behind the question mark.
 */
export function acceptedSignatures(
  secret: string,
  request: {
    readonly timestamp: string;
    readonly method: string;
    readonly path: string;
    readonly sentQuery: string;
  },
): readonly string[] {
  const { path, sentQuery } = request;
  const asSent = [...new URLSearchParams(sentQuery)];
  const sorted = asSent.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  const plain = (pairs: readonly (readonly string[])[]): string =>
    pairs.map((pair) => pair.join("=")).join("&");
  // Most requests are spelled alike in all of them.
  const spellings = new Set([
    sentQuery,
    plain(asSent),
    // In two spellings: a blank is %20 or a plus, and some signs are left as they are.
    plain(sorted.map((pair) => pair.map(encodeURIComponent))),
    new URLSearchParams(sorted).toString(),
    plain(sorted),
  ]);
  return [...spellings].map((query) =>
    signatureOf(secret, request, query === "" ? path : `${path}?${query}`),
  );
}
