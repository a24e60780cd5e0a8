import type { FastifyInstance } from "fastify";
import type { AccountStates } from "../db/accounts/account-states.ts";
import type { Read, ReadAtOnce } from "../db/read-only.ts";
import type { Log } from "../log.ts";
import type { HttpMetrics } from "../metrics/http-metrics.ts";
import type { Stream } from "../sync/store.ts";
import type { KeyRing } from "./keys/key-ring.ts";

/** What the routes of the server are made from. */
export type ServeDeps = {
  readonly read: Read;
  readonly readAtOnce: ReadAtOnce;
  /** The server's own keys, as they are by now. */
  readonly keys: KeyRing;
  /** The machine's time, in ms since the Unix epoch. */
  readonly now: () => number;
  /** The newest time that a sync leaves unsettled, in ms. */
  readonly settleLagMs: number;
  /** How long ago the newest time may lie that was read, in ms, before the server calls it stale. */
  readonly maxAgeMs: number;
  readonly log: Log;
  /** The ledgers that are configured, by what runs were told of their accounts. Default none. */
  readonly configured?: (states: AccountStates) => readonly Stream[];
  /** Under which names a proxy that authenticates shows the page, in small letters. Default none. */
  readonly pageNames?: readonly string[];
  /** Variables that the commands which the page names need: lines of `NAME=value`. Default none. */
  readonly variables?: string;
};

/** Adds some routes of one kind to the server. */
export type RouteGroup = (
  app: FastifyInstance,
  deps: ServeDeps & { readonly http: HttpMetrics },
) => void;
