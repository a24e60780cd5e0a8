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

/** The same of a path whose query is spelled already. */
export const signatureOf = (
  secret: string,
  { timestamp, method }: { readonly timestamp: string; readonly method: string },
  path: string,
): string => createHmac("sha256", secret).update(`${timestamp}${method}${path}`).digest("base64");
