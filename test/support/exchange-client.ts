import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { accountBills } from "../../src/core/contract/account-bills.ts";
import type { Operation } from "../../src/core/contract/operation.ts";
import { createAddressLimits } from "../../src/core/exchange/address-limits.ts";
import { type AskOptions, createClient } from "../../src/core/exchange/client.ts";
import { createExchangeClock } from "../../src/core/exchange/exchange-clock.ts";
import { createRateLimiter, type RateLimiter } from "../../src/core/exchange/rate-limiter.ts";
import { openTransport, type TransportLimits } from "../../src/core/exchange/transport.ts";
import { Secret } from "../../src/lib/secret.ts";
import type { SandboxAccount } from "../../src/wings/sandbox/sandbox.ts";
import { listening } from "./listening.ts";
import { type VirtualClock, virtualClock } from "./virtual-clock.ts";

type TestServer = AsyncDisposable & {
  readonly url: string;
  /** Everything that arrived, in order. */
  readonly requests: readonly IncomingMessage[];
};

export type Responder = (
  response: ServerResponse,
  request: IncomingMessage,
  /** How many requests arrived before. */
  index: number,
) => void;

/** A real HTTP server that answers as the test says. */
export async function serve(respond: Responder): Promise<TestServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    respond(response, request, requests.length - 1);
  });
  const open = await listening(server);
  return { ...open, url: `http://${open.host}`, requests };
}

/** An answer, as a server of the test sends it. */
export type Given = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, anything else as JSON. */
  readonly body: unknown;
};

export const give = (response: ServerResponse, { status = 200, headers = {}, body }: Given) =>
  response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

/** Gives these answers in their order, and then the last one again and again. */
export const serveAnswers = (...answers: readonly Given[]): Promise<TestServer> =>
  serve((response, _request, index) => {
    give(response, answers[Math.min(index, answers.length - 1)] ?? { status: 500, body: "" });
  });

export const emptyPage: Given = {
  body: { code: "00000", msg: "success", data: { bills: [], endId: "" } },
};

type TestClientOptions = {
  readonly account?: Keys;
  readonly time?: VirtualClock;
  readonly limits?: TransportLimits;
  readonly demo?: boolean;
  /** The delay of each request before it is sent. Default none. */
  readonly latencyMs?: () => number;
};

type Keys = Pick<SandboxAccount, "apiKey" | "apiSecret" | "apiPassphrase">;

/** An account's keys as the configuration has them. */
export const secretsOf = ({ apiKey, apiSecret, apiPassphrase }: Keys) => ({
  key: new Secret(apiKey),
  secret: new Secret(apiSecret),
  passphrase: new Secret(apiPassphrase),
});

export const testAccount = { apiKey: "key", apiSecret: "secret", apiPassphrase: "pass" };

/** The real client over a real connection; only its waits are virtual. */
export function openClient(url: string, options: TestClientOptions = {}) {
  const { account = testAccount, time = virtualClock(Date.UTC(2025, 5, 1)), limits } = options;
  const { latencyMs = () => 0, demo = false } = options;
  const transport = openTransport(limits);
  const exchangeClock = createExchangeClock(time.clock.now);
  const address = createAddressLimits(time.clock);
  const limiters = new Map<string, RateLimiter>();
  const limiterOf = (operation: Operation): RateLimiter => {
    const { name, limit } = operation;
    const limiter =
      limiters.get(name) ??
      address.under(operation, () => createRateLimiter({ ...limit, perMs: 1_000 }, time.clock));
    limiters.set(name, limiter);
    return limiter;
  };
  const client = createClient({
    baseUrl: new URL(url),
    credentials: secretsOf(account),
    async transport(request) {
      await time.clock.sleep(latencyMs());
      return time.hold(() => transport(request));
    },
    clock: time.clock,
    exchangeClock,
    limiterOf,
    address,
    demo,
    random: () => 0.5,
  });
  const query = { productType: "USDT-FUTURES", limit: "3" };
  return {
    client,
    time,
    exchangeClock,
    /** Asks for bills in virtual time. */
    askBills: async (asking?: AskOptions): Promise<unknown> =>
      (await time.run(client.ask(accountBills, query, asking))).data,
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}
