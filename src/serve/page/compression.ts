import { pipeline, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import type { FastifyInstance } from "fastify";

/** A smaller answer fits into one packet and is sent uncompressed. */
const shortestBytes = 1_024;

// Events are short and few, and a Parquet file is already compressed.
const isWorthIt = (type: string): boolean => /^(?:text\/(?!event-stream)|image\/svg)/.test(type);

/** Every browser accepts gzip. A weight of 0 refuses it: RFC 9110, 12.5.3. */
export const acceptsGzip = (accepted = ""): boolean =>
  /(?:^|[\s,])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted);

/** Compresses text answers of these routes for clients that accept it. */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook<string | Readable | null>("onSend", async (request, reply, body) => {
    if (body === null || !isWorthIt(String(reply.getHeader("content-type")))) return body;
    reply.header("vary", "accept-encoding");
    if (!acceptsGzip(request.headers["accept-encoding"]?.toString())) return body;
    if (typeof body === "string" && Buffer.byteLength(body) < shortestBytes) return body;
    reply.header("content-encoding", "gzip");
    // Flushes after each part, not when a block is full: the first card is on the screen while the database still
    // computes the others.
    const encoder = createGzip({ flush: constants.Z_SYNC_FLUSH });
    // If the body is cut off, the answer is cut off too, so that nobody takes it for complete.
    pipeline(typeof body === "string" ? Readable.from([body]) : body, encoder, () => undefined);
    return encoder;
  });
}
