import { createHmac } from "node:crypto";
import type { Query } from "./operation.ts";

/** The most that ACCESS-TIMESTAMP may differ from the exchange's clock. Source: reports of its users. */
export const clockSkewMaxMs = 30_000;

/**
 * The ACCESS-SIGN of a request. The query is signed with its keys sorted and its values not percent-encoded. (In the
 * URL they are encoded.) Two public clients and a plain HMAC agree on this.
 * @param timestamp milliseconds since the Unix epoch, as sent in ACCESS-TIMESTAMP.
 */
export function signature(
  secret: string,
  request: { readonly timestamp: string; readonly path: string; readonly query: Query },
): string {
  const { timestamp, path, query } = request;
  const parts = Object.keys(query)
    .sort()
    .map((key) => `${key}=${query[key]}`);
  return signatureOf(secret, timestamp, parts.length === 0 ? path : `${path}?${parts.join("&")}`);
}

/** The ACCESS-SIGN for a path that has its query already: base64 of an HMAC-SHA256, of a GET request without a body. */
export const signatureOf = (secret: string, timestamp: string, path: string): string =>
  createHmac("sha256", secret).update(`${timestamp}GET${path}`).digest("base64");
