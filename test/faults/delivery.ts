import type { ApiAnswer } from "../../src/exchange-server/api.ts";

/** A fault on an answer's way. */
type Delivery =
  /** Resets the connection before the first byte. */
  | { readonly way: "reset" }
  /** Breaks the connection after so many bytes of the body. */
  | { readonly way: "cut"; readonly afterBytes: number }
  /** Sends nothing for this long, then all. */
  | { readonly way: "hold"; readonly holdMs: number }
  /** Sends so many bytes of the body, default all, one each `dripMs`, then the rest. */
  | { readonly way: "drip"; readonly dripMs: number; readonly bytes?: number };

/** An answer, and the fault on its way. Default none. */
export type DeliveredAnswer = ApiAnswer & { readonly delivery?: Delivery };
