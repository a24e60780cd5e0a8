import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { Refusal, toAnswer } from "../../core/server/answer.ts";
import { ReportableError } from "../../lib/errors.ts";
import type { ServeDeps } from "./route-group.ts";
import { sendEnvelope } from "./send-envelope.ts";

/**
 * Requests that are answered at once: two keys may send all of their second's requests together. The
 * largest answers, of a thousand bills, have 600 KB: 256 that nobody reads take 150 MB.
 */
export const answersMax = 256;
/** Requests of one connection that are answered at once. Browsers send one, pipelining clients a few. */
export const answersOfConnectionMax = 4;

const busy = () =>
  new Refusal(503, "40725", "The server is busy, please try again later", { "retry-after": "5" });

/**
 * Sheds what one connection sends beyond its limit. The first such request is refused and ends the
 * connection. The next one cuts it, before fastify keeps anything of it. 200 clients that sent 300
 * requests for the page each and read nothing took 1.7 GB, and no other request was answered for 73 s.
 * Now they take 0.1 GB and 4 s.
 */
export function limitedByConnection(handler: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    if (count > answersOfConnectionMax + 1) {
      socket.destroy();
      return;
    }
    response.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    if (count <= answersOfConnectionMax) return handler(request, response);
    const { status, headers, body } = toAnswer(busy(), Date.now());
    response.writeHead(status, { ...headers, connection: "close" }).end(body);
  };
}

/** Sheds requests while as many others as the limit allows are not yet read to their end. */
export function limitAnswers(app: FastifyInstance): void {
  let unanswered = 0;
  app.addHook("onRequest", async (_request, reply) => {
    if (unanswered >= answersMax) return sendEnvelope(reply, { data: busy() });
    unanswered++;
    reply.raw.once("close", () => {
      unanswered--;
    });
  });
}

/**
 * Refuses reads while as many others as the limit allows are at work or wait for a connection of the
 * database: a client who has left takes back its request, but not its read.
 */
export function limitReads(deps: ServeDeps): ServeDeps {
  let atWork = 0;
  const limited = async <T>(work: () => PromiseLike<T>): Promise<T> => {
    if (atWork >= answersMax) throw new ReportableError("too many reads are at work; try again");
    atWork++;
    try {
      return await work();
    } finally {
      atWork--;
    }
  };
  return {
    ...deps,
    read: (work, options) => limited(() => deps.read(work, options)),
    readAtOnce: (statement) => limited(() => deps.readAtOnce(statement)),
  };
}
