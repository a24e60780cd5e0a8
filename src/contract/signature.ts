import { createHmac } from "node:crypto";
import type { Query } from "./operation.ts";

/** How far the ACCESS-TIMESTAMP may be from the exchange's clock. Source: reports of its users. */
export const clockSkewMaxMs = 30_000;

/**
 * The path with its query as it is signed: keys sorted, values as they are, not
 * percent-encoded. (In the URL they are encoded.) Two public clients and a plain HMAC agree.
 */
export function signedPath(path: string, query: Query): string {
  const parts = Object.keys(query)
    .sort()
    .map((key) => `${key}=${query[key]}`);
  return parts.length === 0 ? path : `${path}?${parts.join("&")}`;
}

/**
 * The ACCESS-SIGN of a request without a body: base64 of the HMAC-SHA256 over timestamp,
 * method and path with query.
 *
 * @param timestamp milliseconds since the Unix epoch, as sent in ACCESS-TIMESTAMP.
 */
export function signature(
  secret: string,
  request: {
    readonly timestamp: string;
    readonly method: string;
    readonly path: string;
    readonly query: Query;
  },
): string {
  return signatureOf(secret, request, signedPath(request.path, request.query));
}

const signatureOf = (
  secret: string,
  { timestamp, method }: { readonly timestamp: string; readonly method: string },
  path: string,
): string => createHmac("sha256", secret).update(`${timestamp}${method}${path}`).digest("base64");

/**
 * Every ACCESS-SIGN that the exchange takes for a request: real clients sign the query as it was
 * sent, raw or decoded, or sorted by key, percent-encoded or decoded. Read in bitget-api, ccxt and
 * Hummingbot.
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
