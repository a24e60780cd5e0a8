import type { z } from "zod";
import { ExchangeError, type ExchangeErrorKind } from "../../lib/errors.ts";
import { secondMs } from "../../lib/time.ts";
import { type Envelope, envelope, successCode } from "../contract/envelope.ts";
import { parseExactJson } from "../contract/json.ts";
import type { Operation } from "../contract/operation.ts";
import { retryAfterMs } from "./retry.ts";
import type { HttpAnswer } from "./transport.ts";

type Refusal = {
  readonly kind: ExchangeErrorKind;
  readonly remedy: string;
  /** How long to wait at least before the next attempt, where no Retry-After says. */
  readonly pauseMs?: number;
};

const credentials = (remedy: string): Refusal => ({ kind: "refused-credentials", remedy });
const otherMode = (remedy: string): Refusal => ({ kind: "other-mode", remedy });
const permission = (remedy: string): Refusal => ({ kind: "refused-permission", remedy });
const clock: Refusal = {
  kind: "clock",
  remedy: "this run now uses the exchange's time; if that does not help, set this machine's clock",
};
const request: Refusal = {
  kind: "refused-request",
  remedy: "the exchange no longer accepts this request; look for a newer version of this program",
};
const timeRange: Refusal = {
  kind: "time-range",
  remedy:
    "the exchange serves bills of the last 90 days in periods of at most 7 days, those of a " +
    "unified account of at most 30",
};
const later: Refusal = { kind: "unavailable", remedy: "try again later" };
// A maintenance takes minutes: with this pause, all attempts together take two.
const maintained: Refusal = {
  kind: "unavailable",
  remedy: "the exchange is being maintained or is busy; try again later",
  pauseMs: 15 * secondMs,
};
const slower: Refusal = {
  kind: "rate-limited",
  remedy: "another program may be using up the account's limit; stop it, or try again later",
};

const banned: Refusal = {
  kind: "banned",
  remedy:
    "the exchange's firewall has banned this machine's address, and no more requests are sent " +
    "from it; wait at least five minutes before you run again, stop other programs that use " +
    "this address, and check proxies and whether the exchange serves this machine's country",
};

const toCheck = {
  key: "check EXCHANGE_API_KEY, or its apiKey in ACCOUNTS_FILE",
  secret: "check EXCHANGE_API_SECRET, or its apiSecret in ACCOUNTS_FILE",
  passphrase: "check EXCHANGE_API_PASSPHRASE, or its apiPassphrase in ACCOUNTS_FILE",
};

const notUnified = otherMode(
  "this is a classic account, which the exchange's v3 API does not serve; run again, to " +
    "read it by the v2 API",
);
const lacksRight = permission(
  "the API key lacks a permission; give it the right to read futures, and that of a unified " +
    "account the right to read UTA management",
);

const support = "ask the exchange's support";
const suspended = credentials(`the exchange has suspended or restricted this account; ${support}`);
const unproven = credentials(
  "the exchange asks the account's owner to prove who they are (KYC), or to bind a phone; do so on its site",
);
const unlisted = credentials(
  "this machine's IP address is not on the API key's list; add it there",
);
const wrongKey = credentials(`the API key is not valid; ${toCheck.key}`);
const wrongSignature = credentials(`the signature is wrong; ${toCheck.secret}`);
const wrongPassphrase = credentials(`the passphrase is wrong; ${toCheck.passphrase}`);
const subAccount = credentials(
  "the exchange does not serve this sub-account with this key; use another account's",
);
const unified = otherMode(
  "this is a unified account, which the exchange's v2 API does not serve; run again, to " +
    "read it by the v3 API",
);

/** One refusal of each of the codes. */
const each = (refusal: Refusal, codes: string): readonly (readonly [string, Refusal])[] =>
  codes.split(" ").map((code) => [code, refusal]);

/**
 * The caller's next step for each of the exchange's codes. Source: its published lists of codes, its public clients and
 * their issue threads.
 */
const refusals: ReadonlyMap<string, Refusal> = new Map([
  ...each(credentials(`the API key is empty; ${toCheck.key}`), "40001 30001"),
  ...each(credentials(`the signature is empty; ${toCheck.secret}`), "40002 40003 30002"),
  ...each(credentials(`the passphrase is empty; ${toCheck.passphrase}`), "40011 30004"),
  ...each(wrongKey, "40006 30006 30010 30012 30022"),
  ...each(wrongSignature, "40009 40506 40507 30013"),
  ...each(wrongPassphrase, "40036 30015"),
  ...each(
    credentials(`the API key or its passphrase is wrong; ${toCheck.key}; ${toCheck.passphrase}`),
    "40012",
  ),
  ...each(credentials(`there is no such API key; ${toCheck.key}`), "40037 40041 40065"),
  ...each(unlisted, "40018 40038 22010 30011"),
  ...each(subAccount, "40042 40061 40068"),
  ...each(suspended, "40013 40023 40024 40026 40031 40710 25005 25006 25007"),
  ...each(suspended, "50012 50013 50023 50064 30029"),
  ...each(unproven, "40016 40035 40101 40111"),
  ...each(notUnified, "40084 25245"),
  ...each(unified, "40085"),
  ...each(
    otherMode(
      "this is the key of an elite trader, which is read as that of a unified account; run again, " +
        "to read it by the v3 API",
    ),
    "40731",
  ),
  ...each(lacksRight, "40014 40040 25620 30028"),
  ...each(
    permission(`the exchange has closed this to the account; ${support}`),
    "40022 40025 40301 40752 40753 40916",
  ),
  // No word on the mode: the v3 API may say it of one thing.
  ...each(permission("the exchange does not serve this to a unified account"), "40128"),
  ...each(
    permission(
      "a demo key was used as a live one, or a live key as a demo one; a demo key needs " +
        '"demo": true in ACCOUNTS_FILE, and reads no product type that begins with S',
    ),
    "40099",
  ),
  ...each(
    {
      kind: "banned",
      remedy:
        "the exchange does not serve the country of this machine's address; check HTTPS_PROXY and " +
        "other proxies",
    },
    "40103 40104",
  ),
  ...each(clock, "40004 40005 40008 40078 40902 40911 30003 30005 30008"),
  ...each(request, "40017 40019 40020 40034 400172 40404 25200 30032"),
  ...each(request, "00171 00172 40057 40058 40059 40064 40302 40304 40724 40811 40813"),
  ...each(request, "43011 43058 48001 48002 50011 50061 31003 31028 95011"),
  // Of a loan-to-value.
  ...each({ kind: "refused-request", remedy: "the account has no loan" }, "40054 25559"),
  ...each(
    { kind: "refused-request", remedy: "the account has no such risk unit" },
    "25561 25562 25566",
  ),
  ...each(timeRange, "00001 20001 40408 40704 40705 40707 42072 43111 43130"),
  ...each(slower, "429 25004"),
  ...each({ ...slower, pauseMs: 15 * secondMs }, "30014 30026"),
  ...each(later, "25000 25001 25003 40010 40015 40725 45001"),
  ...each(later, "40910 43059 50031 80002 30009 30019 30030 30037"),
  ...each(
    { ...maintained, remedy: "the exchange is being upgraded; try again later" },
    "40200 40115",
  ),
  ...each(maintained, "500 1001 40308 40604 50008 50009 30038"),
  // Of one contract or pair.
  ...each(maintained, "41114 25102 25106 40844 43115 45043 50027"),
  ...each(
    {
      kind: "unknown-code",
      remedy: "the exchange could not check the request's parameters; try again later",
    },
    "40808",
  ),
]);

const unknown = (remedy: string): Refusal => ({ kind: "unknown-code", remedy });
const unknownCode = unknown("this code is not known; see its message");

/** The statuses with which a firewall refuses. Its answers carry no code, while the exchange's own do. */
const bans: readonly number[] = [403, 451];

/** The meaning of a refusal with this code and HTTP status. Without a known code, the status decides. */
export function refusalOf(code: string | undefined, status: number): Refusal {
  const refusal = code === undefined ? undefined : refusals.get(code);
  if (refusal !== undefined) return refusal;
  if (status === 418 || (code === undefined && bans.includes(status))) return banned;
  if (status === 429) return slower;
  if (status === 408 || status >= 500) return later;
  return code === undefined ? withoutCode(status) : unknownCode;
}

/** A refusal without a code. The exchange's own have one, so it comes from something in front of the exchange. */
function withoutCode(status: number): Refusal {
  if (status >= 300 && status < 400) {
    return {
      kind: "refused-request",
      remedy:
        "redirects are not followed, since they could send the key elsewhere; check " +
        "EXCHANGE_BASE_URL",
    };
  }
  if (status === 404) return unknown("this is not the exchange's API; check EXCHANGE_BASE_URL");
  return unknown(
    "a proxy or firewall in front of the exchange refused the request; check proxies and " +
      "firewalls, and whether the exchange serves this machine's country",
  );
}

/** The answer's envelope; undefined where the body is HTML, truncated or of another shape. */
export function envelopeOf({ body }: HttpAnswer): Envelope | undefined {
  try {
    return envelope.safeParse(parseExactJson(body)).data;
  } catch {
    return undefined;
  }
}

/**
 * The failure that an answer reports by its HTTP status or by its code; undefined for a success.
 * @param now the exchange's time, with which a Retry-After date is compared.
 * @param scrub removes secrets from the answer's text.
 */
export function failureOf(
  answer: HttpAnswer,
  body: Envelope | undefined,
  now: number,
  scrub: (text: string) => string,
): ExchangeError | undefined {
  const httpOk = answer.status >= 200 && answer.status < 300;
  if (httpOk && body?.code === successCode) return undefined;
  const said = startOf(scrub(body?.msg ?? answer.body));
  const start = `HTTP ${answer.status} ${said === "" ? "with an empty body" : `"${said}"`}`;
  if (httpOk && body === undefined) {
    // An empty body with HTTP 200 was seen on unified accounts. It went away by itself.
    const kind = answer.body === "" ? "unavailable" : "malformed";
    return new ExchangeError(kind, `the answer is not the exchange's: ${start}`);
  }
  const code = body?.code === successCode ? undefined : body?.code;
  const { kind, remedy, pauseMs: leastMs } = refusalOf(code, answer.status);
  const shownCode = code === undefined ? undefined : startOf(scrub(code));
  const name = shownCode === undefined ? start : `${shownCode}: ${said}`;
  const pauseMs = retryAfterMs(answer.retryAfter, now);
  const pause = pauseMs === undefined ? "" : `, retry after ${Math.ceil(pauseMs / secondMs)} s`;
  return new ExchangeError(kind, `the exchange refused (${name}${pause}): ${remedy}`, {
    code: shownCode ?? `HTTP ${answer.status}`,
    retryAfterMs: pauseMs ?? leastMs,
  });
}

/** @throws ExchangeError of kind `malformed` where the data breaks the operation's contract. */
export function dataOf<Op extends Operation>(
  operation: Op,
  body: Envelope | undefined,
): z.output<Op["data"]> {
  const parsed = operation.data.safeParse(body?.data);
  if (parsed.success) return parsed.data as z.output<Op["data"]>;
  const [issue] = parsed.error.issues;
  const place = ["data", ...(issue?.path ?? [])].join(".");
  throw new ExchangeError(
    "malformed",
    `the answer to ${operation.name} broke the API's contract at ${place}: ${issue?.message}`,
  );
}

const lengthMax = 160;

/** The start of an untrusted text, on one line and without control characters, for a terminal. */
const startOf = (text: string): string =>
  text
    .slice(0, 4 * lengthMax)
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, lengthMax);
