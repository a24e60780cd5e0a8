import type { z } from "zod";
import type { Clock } from "../clock.ts";
import { type Envelope, envelope, successCode } from "../contract/envelope.ts";
import { parseExactJson } from "../contract/json.ts";
import type { Operation, Query } from "../contract/operation.ts";
import { signature } from "../contract/signature.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
import { ExchangeError } from "../errors.ts";
import type { Secret } from "../secret.ts";
import type { ExchangeClock } from "./exchange-clock.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { refusalOf } from "./refusals.ts";
import { attemptsBound, retryAfterMs, retryDelayMs } from "./retry.ts";
import type { HttpAnswer, Transport } from "./transport.ts";

export type Credentials = {
  readonly key: Secret;
  readonly secret: Secret;
  readonly passphrase: Secret;
};

export type ClientDeps = {
  readonly baseUrl: URL;
  /** Absent: only public operations can be asked for. */
  readonly credentials?: Credentials;
  readonly locale: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly exchangeClock: ExchangeClock;
  readonly limiterOf: (operation: Operation) => RateLimiter;
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

export type AskOptions = {
  /** Ends the waiting between and before requests, not a request on its way. */
  readonly signal?: AbortSignal;
  /** Asks the exchange's demo trading. */
  readonly demo?: boolean;
  /** Called right before each request; what it throws ends the asking. */
  readonly beforeSend?: () => void;
  /** Told of every request that was sent, right after its end, and of its failure. */
  readonly onAttempt?: (failure: ExchangeError | undefined) => void;
};

export type Client = {
  /**
   * Asks until there is an answer that keeps the contract, or a reason to stop. A query that
   * is a function is made anew for each attempt, when its turn has come: for times that move.
   * @throws ExchangeError, whose kind says what to do next; the signal's reason.
   */
  ask<Op extends Operation>(
    operation: Op,
    query: Query | (() => Query),
    options?: AskOptions,
  ): Promise<z.output<Op["data"]>>;
};

/** The exchange, asked for the operations of the contract: signed, paced and retried. */
export function createClient(deps: ClientDeps): Client {
  const { clock, exchangeClock } = deps;
  const scrub = scrubber(deps.credentials);

  async function attempt<Op extends Operation>(operation: Op, query: Query, demo: boolean) {
    const url = new URL(operation.path, deps.baseUrl);
    url.search = new URLSearchParams(query).toString();
    const sentAt = clock.now();
    const headers = headersOf(deps, operation, query, demo);
    const answer = await deps.transport({ url, headers });
    const body = bodyOf(answer);
    const sample =
      body?.requestTime == null
        ? undefined
        : { sentAt, answeredAt: clock.now(), requestTime: epochMs(body.requestTime) };
    const failure = failureOf(answer, body, exchangeClock.now(), scrub);
    if (sample !== undefined) {
      if (failure?.kind === "clock") exchangeClock.reset(sample);
      else exchangeClock.observe(sample);
    }
    if (failure !== undefined) throw failure;
    return dataOf(operation, body);
  }

  return {
    async ask(operation, query, { signal, demo = false, beforeSend, onAttempt } = {}) {
      const limiter = deps.limiterOf(operation);
      for (let failed = 1; failed <= attemptsBound; failed++) {
        try {
          const data = await limiter.run(() => {
            beforeSend?.();
            return attempt(operation, typeof query === "function" ? query() : query, demo);
          }, signal);
          onAttempt?.(undefined);
          return data;
        } catch (error) {
          if (!(error instanceof ExchangeError)) throw error;
          onAttempt?.(error);
          const delayMs = retryDelayMs(error, failed, deps.random);
          if (delayMs === "stop") throw failed === 1 ? error : afterAttempts(error, failed);
          if (error.kind === "rate-limited") limiter.holdOff(delayMs);
          await clock.sleep(delayMs, signal);
        }
      }
      throw new Error("unreachable: retryDelayMs ends every sequence of attempts");
    },
  };
}

function headersOf(
  { credentials, exchangeClock, locale }: ClientDeps,
  operation: Operation,
  query: Query,
  demo: boolean,
): Record<string, string> {
  if (operation.access === "public") return {};
  if (credentials === undefined) {
    throw new Error(`defect: ${operation.name} is signed, and the client has no credentials`);
  }
  const timestamp = String(exchangeClock.now());
  const { method, path } = operation;
  return {
    "ACCESS-KEY": credentials.key.reveal(),
    "ACCESS-SIGN": signature(credentials.secret.reveal(), { timestamp, method, path, query }),
    "ACCESS-PASSPHRASE": credentials.passphrase.reveal(),
    "ACCESS-TIMESTAMP": timestamp,
    locale,
    "Content-Type": "application/json",
    ...(demo ? { paptrading: "1" } : {}),
  };
}

/** The answer's envelope, or undefined where the body is none: HTML, cut off, another shape. */
function bodyOf(answer: HttpAnswer): Envelope | undefined {
  try {
    return envelope.safeParse(parseExactJson(answer.body)).data;
  } catch {
    return undefined;
  }
}

/** Why this answer is none, from its HTTP status and its code: either may carry the refusal. */
function failureOf(
  answer: HttpAnswer,
  body: Envelope | undefined,
  now: EpochMs,
  scrub: (text: string) => string,
): ExchangeError | undefined {
  const httpOk = answer.status >= 200 && answer.status < 300;
  if (httpOk && body === undefined) {
    const start = excerpt(answer, scrub);
    return new ExchangeError("malformed", `the answer is not the exchange's: ${start}`);
  }
  if (httpOk && body?.code === successCode) return undefined;
  const code = body?.code === successCode ? undefined : body?.code;
  const { kind, remedy } = refusalOf(code, answer.status);
  const name = code ?? `HTTP ${answer.status}`;
  const said = scrub(body?.msg ?? excerpt(answer, scrub));
  return new ExchangeError(kind, `the exchange refused (${name}: ${said}): ${remedy}`, {
    code: name,
    retryAfterMs: retryAfterMs(answer.retryAfter, now),
  });
}

function dataOf<Op extends Operation>(
  operation: Op,
  body: Envelope | undefined,
): z.output<Op["data"]> {
  const parsed = operation.data.safeParse(body?.data);
  if (parsed.success) return parsed.data as z.output<Op["data"]>;
  const [issue] = parsed.error.issues;
  const place = ["data", ...(issue?.path ?? [])].join(".");
  throw new ExchangeError(
    "malformed",
    `the answer to ${operation.name} broke the contract at ${place}: ${issue?.message}`,
  );
}

/** Takes the credentials out of a text that came from outside: a proxy may echo headers. */
function scrubber(credentials: Credentials | undefined): (text: string) => string {
  const values = Object.values(credentials ?? {})
    .map((secret: Secret) => secret.reveal())
    .filter((value) => value !== "");
  return (text) => values.reduce((scrubbed, value) => scrubbed.replaceAll(value, "[secret]"), text);
}

const excerptLength = 80;

function excerpt({ status, body }: HttpAnswer, scrub: (text: string) => string): string {
  const start = scrub(body).slice(0, excerptLength).replaceAll(/\s+/g, " ").trim();
  return start === "" ? `HTTP ${status} with an empty body` : `HTTP ${status} "${start}"`;
}

function afterAttempts(error: ExchangeError, attempts: number): ExchangeError {
  return new ExchangeError(error.kind, `${error.message} (after ${attempts} attempts)`, {
    ...(error.code === undefined ? {} : { code: error.code }),
    retryAfterMs: error.retryAfterMs,
    cause: error,
  });
}
