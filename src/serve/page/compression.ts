import { pipeline, Readable, type Transform } from "node:stream";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import type { FastifyInstance } from "fastify";

// Flushes after each part, not when a block is full: the first card is on the screen while the
// database still computes the others.
const encoders = {
  br: () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
    }),
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
} as const satisfies Readonly<Record<string, () => Transform>>;

export type Encoding = keyof typeof encoders;

/** A smaller answer fits into one packet and is sent uncompressed. */
const shortestBytes = 1_024;

// Events are short and few, and a Parquet file is already compressed.
const isWorthIt = (type: string): boolean => /^(?:text\/(?!event-stream)|image\/svg)/.test(type);

/** Compresses text answers of these routes for clients that accept it. */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook<string | Readable | null>("onSend", async (request, reply, body) => {
    if (body === null || !isWorthIt(String(reply.getHeader("content-type")))) return body;
    reply.header("vary", "accept-encoding");
    const encoding = encodingFor(request.headers["accept-encoding"]);
    if (encoding === undefined) return body;
    if (typeof body === "string" && Buffer.byteLength(body) < shortestBytes) return body;
    reply.header("content-encoding", encoding);
    const encoder = encoders[encoding]();
    // If the body is cut off, the answer is cut off too, so that nobody takes it for complete.
    pipeline(typeof body === "string" ? Readable.from([body]) : body, encoder, () => undefined);
    return encoder;
  });
}

/**
 * The encoding that a client prefers by its Accept-Encoding header; Brotli if it has no preference.
 * @returns undefined if the client accepts none of ours. Source: RFC 9110, 12.5.3.
 */
export function encodingFor(accepted: string | undefined): Encoding | undefined {
  const weights = new Map((accepted ?? "").split(",").map(weighed));
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  const [best] = (["br", "gzip"] as const).toSorted((a, b) => weightOf(b) - weightOf(a));
  return best !== undefined && weightOf(best) > 0 ? best : undefined;
}

function weighed(coding: string): readonly [name: string, weight: number] {
  const [name = "", ...parameters] = coding
    .toLowerCase()
    .split(";")
    .map((word) => word.trim());
  const weight = parameters.find((word) => word.startsWith("q="));
  return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
}
