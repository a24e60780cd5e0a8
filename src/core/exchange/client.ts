import type { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { ExchangeError, type ExchangeErrorKind } from "../../lib/errors.ts";
import type { Secret } from "../../lib/secret.ts";
import { type EpochMs, epochMs } from "../../lib/time.ts";
import { elementTexts, stringsIn } from "../contract/json-source.ts";
import type { Operation, Query } from "../contract/operation.ts";
import { clockSkewMaxMs, signature } from "../contract/signature.ts";
import type { AddressBan } from "./address-limits.ts";
import { dataOf, envelopeOf, failureOf } from "./answer.ts";
import type { ClockSample, ExchangeClock } from "./exchange-clock.ts";
import type { Arrival } from "./one-way-delay.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { attemptsBound, retryDelayMs } from "./retry.ts";
import { holdsSecret, scrubber } from "./scrub.ts";
import type { Transport } from "./transport.ts";

export type Credentials = {
  readonly key: Secret;
  readonly secret: Secret;
  readonly passphrase: Secret;
};

export type ClientDeps = {
  readonly baseUrl: URL;
  /** Needed for signed operations. */
  readonly credentials?: Credentials;
  /** Whether the credentials are a demo trading key's. Default false. */
  readonly demo?: boolean;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly exchangeClock: ExchangeClock;
  readonly limiterOf: (operation: Operation) => RateLimiter;
  /** The limits that all accounts of this machine's address share. */
  readonly address: AddressBan;
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

export type AskOptions = {
  /** Aborts the waits before and between requests, never a request that was sent. */
  readonly signal?: AbortSignal;
  /** Of the requests that wait for the rate limit, the one with the highest priority goes first. Default 0. */
  readonly priority?: number;
  /** Called right before each request. If it throws, nothing is sent. */
  readonly beforeSend?: () => void;
  /** Called right after each request, with its failure if it failed. */
  readonly onAttempt?: (failure: ExchangeError | undefined) => void;
};

type Answered<Op extends Operation> = {
  readonly data: z.output<Op["data"]>;
  /** The exchange's time when it received the request; our estimate where the answer does not have it. */
  readonly requestTime: EpochMs;
  /**
   * The elements of a list in the data, each letter for letter as it was served; empty where there is no
   * list.
   * @throws ExchangeError where they contain a secret, which a part that parsing dropped may do.
   */
  readonly sourceTexts: (path: readonly string[]) => readonly string[];
};

export type Client = {
  /**
   * Asks until an answer keeps the contract, or another attempt is of no use. A query function is called
   * right before each attempt is sent, for queries whose times depend on the current time.
   * @throws ExchangeError, whose kind says what to do next; the signal's reason.
   */
  ask<Op extends Operation>(
    operation: Op,
    query: Query | (() => Query),
    options?: AskOptions,
  ): Promise<Answered<Op>>;
};

/** A client for the contract's operations, which signs, paces and retries requests. */
export function createClient(deps: ClientDeps): Client {
  const { clock, exchangeClock, address } = deps;

  async function attempt<Op extends Operation>(
    operation: Op,
    query: Query,
    arrived: (arrival: Arrival) => void,
  ): Promise<Answered<Op>> {
    const url = new URL(operation.path, deps.baseUrl);
    url.search = new URLSearchParams(query).toString();
    // Sent in the order in which it is signed: a server may check the signature against the query as sent.
    url.searchParams.sort();
    let sentAt = clock.now();
    const onSent = () => {
      sentAt = clock.now();
    };
    const headers = headersOf(deps, operation, query);
    const answer = await deps.transport({ url, headers, onSent });
    const answeredAt = clock.now();
    const body = envelopeOf(answer);
    const secrets = secretsOf(deps.credentials, headers);
    const scrub = (text: string) => scrubber(secrets)(text);
    const failure = failureOf(answer, body, body?.requestTime ?? exchangeClock.now(), scrub);
    if (body?.requestTime !== undefined) {
      const sample = { sentAt, answeredAt, requestTime: epochMs(body.requestTime) };
      arrived(sample);
      if (failure === undefined) refuseImpossibleTime(headers, sample);
      if (failure?.kind === "clock") exchangeClock.reset(sample);
      else exchangeClock.observe(sample);
    }
    if (failure !== undefined) throw failure;
    if (operation.access === "signed") refuseEcho(body?.data, secrets);
    const requestTime = epochMs(body?.requestTime ?? exchangeClock.now());
    const sourceTexts = (path: readonly string[]) => {
      const texts = elementTexts(answer.body, ["data", ...path]) ?? [];
      if (operation.access === "signed") refuseEcho([texts, texts.map(stringsIn)], secrets);
      return texts;
    };
    return { data: dataOf(operation, body), requestTime, sourceTexts };
  }

  return {
    async ask(operation, query, { signal, priority = 0, beforeSend, onAttempt } = {}) {
      const limiter = deps.limiterOf(operation);
      const failures = new Map<ExchangeErrorKind, number>();
      for (let attempts = 1; attempts <= attemptsBound; attempts++) {
        let sentAt = clock.now();
        try {
          const answered = await limiter.run(
            (arrived) => {
              const ban = address.ban();
              if (ban !== undefined) throw ban;
              beforeSend?.();
              sentAt = clock.now();
              const asked = typeof query === "function" ? query() : query;
              return attempt(operation, asked, arrived);
            },
            signal,
            priority,
          );
          onAttempt?.(undefined);
          address.admitted(sentAt);
          return answered;
        } catch (error) {
          // Nothing was sent: the request waited until another one was banned, or the signal aborted.
          const isAnothers = error === address.ban() || error === signal?.reason;
          if (!(error instanceof ExchangeError) || isAnothers) throw error;
          const isBan = error.kind === "banned";
          const failed = isBan ? address.countBan(sentAt) : (failures.get(error.kind) ?? 0) + 1;
          failures.set(error.kind, failed);
          const delayMs = retryDelayMs(error, failed, deps.random);
          if (isBan) address.banned(error, delayMs);
          onAttempt?.(error);
          if (delayMs === "stop") throw attempts === 1 ? error : afterAttempts(error, attempts);
          if (error.kind === "rate-limited") limiter.holdOff(delayMs);
          await clock.sleep(delayMs, signal);
        }
      }
      throw new Error("unreachable: retryDelayMs ends every sequence of attempts");
    },
  };
}

const signHeader = "ACCESS-SIGN";

/** The secrets of this request, which no output may show. */
const secretsOf = (
  credentials: Credentials | undefined,
  headers: Readonly<Record<string, string>>,
): readonly string[] => [
  ...Object.values(credentials ?? {}).map((secret: Secret) => secret.reveal()),
  headers[signHeader] ?? "",
];

/**
 * Refuses an answer that contains a secret, or is nested too deeply to be searched for one: rows of
 * answers are stored for good.
 */
function refuseEcho(data: unknown, secrets: readonly string[]): void {
  try {
    if (!holdsSecret(data, secrets)) return;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ExchangeError("malformed", "the answer is nested too deeply", { cause });
  }
  throw new ExchangeError(
    "refused-credentials",
    "the answer repeats this account's API key, secret, passphrase or signature, and nothing of it " +
      "was stored; check the proxies between this machine and the exchange, and make a new key",
  );
}

/**
 * Refuses an answer whose time cannot be right. The exchange accepts a signed request only within 30 s of
 * its own clock, so a time that is further off is wrong. Coverage would be computed from it.
 */
function refuseImpossibleTime(
  headers: Readonly<Record<string, string>>,
  { sentAt, answeredAt, requestTime }: ClockSample,
): void {
  const signedAt = headers["ACCESS-TIMESTAMP"];
  if (signedAt === undefined) return;
  const offByMs = Math.abs(requestTime - Number(signedAt));
  if (offByMs <= clockSkewMaxMs + (answeredAt - sentAt)) return;
  throw new ExchangeError(
    "malformed",
    `the answer's requestTime ${requestTime} is ${offByMs} ms off the time of the signed request`,
  );
}

// A cache that ignores the key would answer one account with another's bills. The signature covers no header.
const noCache = { "Cache-Control": "no-cache", Pragma: "no-cache" };

function headersOf(
  { credentials, demo = false, exchangeClock }: ClientDeps,
  operation: Operation,
  query: Query,
): Record<string, string> {
  if (operation.access === "public") return noCache;
  if (credentials === undefined) {
    throw new Error(`defect: ${operation.name} is signed, and the client has no credentials`);
  }
  const timestamp = String(exchangeClock.now());
  return {
    "ACCESS-KEY": credentials.key.reveal(),
    [signHeader]: signature(credentials.secret.reveal(), {
      timestamp,
      path: operation.path,
      query,
    }),
    "ACCESS-PASSPHRASE": credentials.passphrase.reveal(),
    "ACCESS-TIMESTAMP": timestamp,
    locale: "en-US",
    "Content-Type": "application/json",
    ...noCache,
    ...(demo ? { paptrading: "1" } : {}),
  };
}

function afterAttempts(error: ExchangeError, attempts: number): ExchangeError {
  return new ExchangeError(error.kind, `${error.message} (after ${attempts} attempts)`, {
    ...(error.code === undefined ? {} : { code: error.code }),
    retryAfterMs: error.retryAfterMs,
    cause: error,
  });
}
