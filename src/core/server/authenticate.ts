import { timingSafeEqual } from "node:crypto";
import { clockSkewMaxMs, signatureOf } from "../contract/signature.ts";
import { Refusal } from "./answer.ts";
import type { ApiRequest } from "./request.ts";

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
    readonly path: string;
    readonly sentQuery: string;
  },
): readonly string[] {
  const { timestamp, path, sentQuery } = request;
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
    signatureOf(secret, timestamp, query === "" ? path : `${path}?${query}`),
  );
}

const bad = (code: string, msg: string) => new Refusal(400, code, msg);

/**
 * Why the exchange would refuse this request's signature; undefined where it would accept it. The codes and their
 * order follow public records of its answers: its documentation does not have them.
 *
 * @param now the exchange's clock, milliseconds since the Unix epoch.
 */
export function authenticate(
  request: Omit<ApiRequest, "clientAddress">,
  credential: { readonly secret: string; readonly passphrase: string },
  now: number,
): Refusal | undefined {
  const { headers } = request;
  const sign = headers["access-sign"];
  const passphrase = headers["access-passphrase"];
  const timestamp = headers["access-timestamp"];
  if (!sign) return bad("40003", "Signature cannot be empty");
  if (!passphrase) return bad("40011", "ACCESS_PASSPHRASE cannot be empty");
  if (!timestamp || !/^\d{1,15}$/.test(timestamp)) return bad("40005", "Invalid ACCESS_TIMESTAMP");
  if (Math.abs(now - Number(timestamp)) > clockSkewMaxMs)
    return bad("40008", "Request timestamp expired");
  const { sentQuery = new URLSearchParams(request.query).toString() } = request;
  const accepted = acceptedSignatures(credential.secret, { ...request, sentQuery, timestamp });
  // Both are always compared, so that the time taken does not tell which one was wrong.
  const isSigned = isAnyOf(sign, accepted);
  if (!sameText(passphrase, credential.passphrase))
    return bad("40036", "The passphrase is incorrect");
  return isSigned ? undefined : bad("40009", "sign signature error");
}

/** Compares with all of them, so that the time taken does not tell which one nearly matched. */
const isAnyOf = (text: string, accepted: readonly string[]): boolean =>
  accepted.reduce((isAny, one) => sameText(text, one) || isAny, false);

function sameText(text: string, expected: string): boolean {
  const left = Buffer.from(text);
  const right = Buffer.from(expected);
  return left.length === right.length && timingSafeEqual(left, right);
}
