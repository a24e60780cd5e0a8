import { Refusal } from "../../../core/server/answer.ts";
import { authenticate } from "../../../core/server/authenticate.ts";
import type { ApiRequest } from "../../../core/server/request.ts";
import {
  type RollingWindow,
  remembered,
  rollingWindow,
} from "../../../core/server/rolling-window.ts";
import { type EpochMs, minuteMs, secondMs } from "../../../lib/time.ts";
import { type KeyRing, keyPrefix, type MirrorKey } from "./key-file.ts";

/** Requests of a key in a second. */
const requestsMax = 100;
/** Failed requests of an address in a minute. Requests with a valid signature do not count. */
const failuresMax = 20;

/** What an admitted question comes with. */
export type Admitted = { readonly key: MirrorKey; readonly now: EpochMs };

export type Access = (request: ApiRequest) => MirrorKey | Refusal;

// An unknown key is checked against this one, so that the check takes as long as for a known key.
const nobody = { secret: "0".repeat(64), passphrase: "0".repeat(20) };

/**
 * Admits requests that are signed with one of the server's own keys, up to the key's rate limit.
 */
export function accessBy(
  keys: KeyRing,
  now: () => number,
  /** Called with the code of every refused key or signature, even if the client is told less. */
  onFailure: (code: string) => void,
): Access {
  const failuresOf = createRollingLimit(failuresMax, minuteMs);
  const usesOf = createRollingLimit(requestsMax);
  return (request) => {
    const at = now();
    const name = request.headers["access-key"] ?? "";
    const key = keys().get(name);
    const credential =
      key === undefined ? nobody : { secret: key.apiSecret, passphrase: key.apiPassphrase };
    const refusal = authenticate(request, credential, at);
    const failed = (failure: Refusal) => {
      onFailure(failure.code);
      return failuresOf(request.clientAddress, at) ?? failure;
    };
    if (key === undefined) return failed(unknownKey(name));
    if (refusal !== undefined) return failed(refusal);
    return usesOf(key.apiKey, at) ?? key;
  };
}

function unknownKey(name: string): Refusal {
  if (name === "") return new Refusal(400, "40001", "ACCESS_KEY cannot be empty");
  return new Refusal(
    400,
    "40037",
    name.startsWith(keyPrefix)
      ? "Apikey does not exist: it was removed, or is another server's"
      : "Apikey is not a key of this server: use one made by bill-sync mirror-keys add, never one of " +
          "the exchange",
  );
}

/** Counts a use of a name; a refusal beyond the limit. */
type RollingLimit = (name: string, at: number) => Refusal | undefined;

/** Allows each name this many uses in any rolling span of `perMs`. Refused uses count, as at the exchange. */
export function createRollingLimit(requests: number, perMs: number = secondMs): RollingLimit {
  const windows = new Map<string, RollingWindow>();
  const tooMany = new Refusal(429, "429", "Too Many Requests", {
    "retry-after": String(perMs / secondMs),
  });
  return (name, at) =>
    remembered(windows, name, () => rollingWindow(perMs)).arrive(at) > requests
      ? tooMany
      : undefined;
}
