import { timingSafeEqual } from "node:crypto";
import { clockSkewMaxMs, signatureOf } from "../contract/signature.ts";
import { type Credential, type Credentials, type Permission, Refusal } from "./source.ts";

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

/** A request as the server sees it, independent of the transport. Query values are decoded, header names are lower case. */
export type SignedRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The text after the question mark. Default the query, percent-encoded. */
  readonly sentQuery?: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

const bad = (code: string, msg: string) => new Refusal(400, code, msg);

/** The credential that the request names. Nothing else of the request is checked yet. */
export function namedCredential(
  { headers }: SignedRequest,
  credentials: Credentials,
): Credential | Refusal {
  const key = headers["access-key"];
  if (!key) return bad("40001", "ACCESS_KEY cannot be empty");
  return credentials.get(key) ?? bad("40037", "Apikey does not exist");
}

/**
 * Why the exchange would refuse this request; undefined where it would accept it. The codes and their
 * order follow public records of its answers: its documentation does not have them.
 *
 * @param now the exchange's clock, milliseconds since the Unix epoch.
 */
export function authenticate(
  request: SignedRequest,
  credential: Credential,
  permission: Permission | undefined,
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
  if (!isSigned) return bad("40009", "sign signature error");
  return admit(headers, credential, permission);
}

function admit(
  headers: SignedRequest["headers"],
  { permissions, environment }: Credential,
  permission: Permission | undefined,
): Refusal | undefined {
  if (permission !== undefined && !permissions.includes(permission))
    return bad("40014", "Incorrect permissions, need read permissions");
  const asked = headers["paptrading"] === "1" ? "demo" : "live";
  if (environment === undefined || environment === asked) return undefined;
  return wrongEnvironment();
}

export const wrongEnvironment = (): Refusal => bad("40099", "exchange environment is incorrect");

/** Compares with all of them, so that the time taken does not tell which one nearly matched. */
const isAnyOf = (text: string, accepted: readonly string[]): boolean =>
  accepted.reduce((isAny, one) => sameText(text, one) || isAny, false);

function sameText(text: string, expected: string): boolean {
  const left = Buffer.from(text);
  const right = Buffer.from(expected);
  return left.length === right.length && timingSafeEqual(left, right);
}

const unifiedMessage =
  "You are in Unified Account mode, and the Classic Account API is not supported";
const classicMessage =
  "You are in Classic Account mode, and the Unified Account API is not supported";

/**
 * Why an operation of one API is refused to an account of this mode; undefined where it is not. Checked
 * before the signature, so that the answer says nothing about the key. An account that is changing its
 * mode is served by neither API, which only say its mode.
 */
export function refusedMode(api: OperationApi, credential: Credential): Refusal | undefined {
  const { accountMode: mode } = credential;
  if (api === "classic") return mode === "classic" ? undefined : bad("40085", unifiedMessage);
  const isUnified = mode === "unified" || mode === "hybrid";
  const isServed = isUnified || (api === "unified-mode" && mode !== "classic");
  return isServed ? undefined : bad("40084", classicMessage);
}

/** The accounts that an operation serves. `unified-mode` also serves those that are changing their mode. */
export type OperationApi = "classic" | "unified" | "unified-mode";
