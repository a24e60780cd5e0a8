import { Refusal } from "../../../core/server/answer.ts";
import type { ApiRequest } from "../../../core/server/request.ts";

/**
 * An account's mode as the exchange words it: served by v2, by v3, or changing from one to the other.
 * Words that are not listed also mean that the account is changing.
 */
export type WireAccountMode =
  | "classic"
  | "unified"
  | "hybrid"
  | "upgrading"
  | "switching"
  | (string & {});

/** `uta-mgt` is the permission to read a unified account: its settings, records and loans; `spot` tells whose key it is. */
export type Permission = "bills" | "loan-to-value" | "spot" | "uta-mgt" | "tax";

/** What the server knows about one API key. */
export type Credential = {
  readonly secret: string;
  readonly passphrase: string;
  /** The user id at the exchange, by which limits are counted. Several keys may share it. */
  readonly uid: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  /** Each mode's API refuses accounts of the other mode. */
  readonly accountMode: WireAccountMode;
  /** The trading environment to which the key belongs. Default both. */
  readonly environment?: "live" | "demo";
};

/** What is known about an API key at the moment. */
export type Credentials = { get(apiKey: string): Credential | undefined };

const bad = (code: string, msg: string) => new Refusal(400, code, msg);

/** The credential that the request names. Nothing else of the request is checked yet. */
export function namedCredential(
  { headers }: ApiRequest,
  credentials: Credentials,
): Credential | Refusal {
  const key = headers["access-key"];
  if (!key) return bad("40001", "ACCESS_KEY cannot be empty");
  return credentials.get(key) ?? bad("40037", "Apikey does not exist");
}

/** Why a signed request is refused by what its key may do; undefined where it is not. */
export function refusedRight(
  { headers }: ApiRequest,
  { permissions, environment }: Credential,
  permission: Permission | undefined,
): Refusal | undefined {
  if (permission !== undefined && !permissions.includes(permission))
    return bad("40014", "Incorrect permissions, need read permissions");
  const asked = headers["paptrading"] === "1" ? "demo" : "live";
  return environment === undefined || environment === asked ? undefined : wrongEnvironment();
}

export const wrongEnvironment = (): Refusal => bad("40099", "exchange environment is incorrect");

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
