import { createHmac } from "node:crypto";
import type { Query } from "./operation.ts";

/** The most that ACCESS-TIMESTAMP may differ from the exchange's clock. Source: reports of its users. */
export const clockSkewMaxMs = 30_000;

/**
 * The path with its query as it is signed: keys sorted, values not percent-encoded. (In the URL they are
 * encoded.) Two public clients and a plain HMAC agree on this.
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

/** The ACCESS-SIGN for a path that has its query already. */
export const signatureOf = (
  secret: string,
  { timestamp, method }: { readonly timestamp: string; readonly method: string },
  path: string,
): string => createHmac("sha256", secret).update(`${timestamp}${method}${path}`).digest("base64");
