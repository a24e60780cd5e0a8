import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiAnswer } from "../../src/exchange-server/api.ts";

/** A fault on an answer's way. */
export type Delivery =
  /** Resets the connection before the first byte. */
  | { readonly way: "reset" }
  /** Breaks the connection after so many bytes of the body. */
  | { readonly way: "cut"; readonly afterBytes: number }
  /** Sends nothing for this long, then all. */
  | { readonly way: "hold"; readonly holdMs: number }
  /** Sends so many bytes of the body, default all, one each `dripMs`, then the rest. */
  | { readonly way: "drip"; readonly dripMs: number; readonly bytes?: number };

/** An answer, and the fault on its way, which the transport acts out. Default none. */
export type DeliveredAnswer = ApiAnswer & { readonly delivery?: Delivery };

/** Sends an answer to a real client, with the fault on its way. */
export async function sendDelivered(
  outgoing: ServerResponse,
  given: DeliveredAnswer,
): Promise<void> {
  const { delivery } = given;
  // Aborted where the client leaves before the answer is sent.
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  switch (delivery?.way) {
    case undefined:
      return sendRest(outgoing, given);
    case "reset":
      outgoing.socket?.resetAndDestroy();
      return;
    case "cut": {
      const body = startBody(outgoing, given).subarray(0, delivery.afterBytes);
      // The client has seen the promised length, then loses the connection.
      outgoing.write(body, () => outgoing.socket?.destroy());
      return;
    }
    case "hold":
      await wait(delivery.holdMs, gone.signal);
      return sendRest(outgoing, given);
    case "drip":
      return drip(outgoing, given, delivery, gone.signal);
    default:
      delivery satisfies never;
  }
}

/** Sends the head. @returns the bytes of the body, which are still to be sent. */
function startBody(outgoing: ServerResponse, { status, headers, body }: ApiAnswer): Buffer {
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
  return bytes;
}

function sendRest(outgoing: ServerResponse, given: ApiAnswer): void {
  if (!outgoing.destroyed) outgoing.end(startBody(outgoing, given));
}

async function drip(
  outgoing: ServerResponse,
  given: ApiAnswer,
  { dripMs, bytes: dripped }: Extract<Delivery, { way: "drip" }>,
  gone: AbortSignal,
): Promise<void> {
  const body = startBody(outgoing, given);
  const end = Math.min(dripped ?? body.length, body.length);
  for (let index = 0; index < end && !gone.aborted; index++) {
    outgoing.write(body.subarray(index, index + 1));
    await wait(dripMs, gone);
  }
  if (!gone.aborted) outgoing.end(body.subarray(end));
}

const wait = (delayMs: number, signal: AbortSignal): Promise<unknown> =>
  sleep(delayMs, undefined, { signal }).catch(() => undefined);
