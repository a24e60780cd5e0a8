import type { FastifyInstance } from "fastify";
import type { ReadRoster } from "../../accounts/roster.ts";
import type { Limits } from "../../check/health/finding-rows.ts";
import type { Log } from "../../commands/log.ts";
import type { Queryable, Read, ReadAtOnce } from "../../core/postgres/connect.ts";
import { explained } from "../../core/postgres/database-errors.ts";
import { firstThrown, messageOf } from "../../lib/errors.ts";
import type { KeyRing } from "./mirror/key-file.ts";
import type { HttpMetrics } from "./registry.ts";

type ReadFirst = <T>(work: (connection: Queryable) => Promise<T>) => Promise<T>;

/** What the server's routes need. */
export type ServeDeps = {
  readonly read: Read;
  readonly readAtOnce: ReadAtOnce;
  /** Reads on a connection that other reads never take. */
  readonly readFirst: ReadFirst;
  /** The server's own keys, as currently in the file. */
  readonly keys: KeyRing;
  /** The machine's time, in ms since the Unix epoch. */
  readonly now: () => number;
  /** How far behind a ledger may be, and how high a loan to value. */
  readonly limits: Limits;
  readonly log: Log;
  readonly readRoster: ReadRoster;
  /**
   * The host names, in lower case, under which an authenticating proxy shows the page. Default
   * none.
   */
  readonly pageNames?: readonly string[];
  /** The environment, if npm runs the program: the page then names commands as they are typed there. */
  readonly npm?: object | undefined;
};

/** What the log says of a failure. */
export const faultOf = (thrown: unknown) => ({ error: messageOf(explained(firstThrown(thrown))) });

/** Adds some routes of one kind to the server. */
export type RouteGroup = (
  app: FastifyInstance,
  deps: ServeDeps & { readonly http: HttpMetrics },
) => void;
