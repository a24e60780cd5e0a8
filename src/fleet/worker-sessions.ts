import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { type Egress, egressName } from "../db/lease/holders.ts";

/** A worker as the database's server shows it. */
export type WorkerSession = {
  /** A digest of the host's name. It tells machines apart whose names are cut off. */
  readonly machine: string;
  /** The worker's name for its address; undefined if none was given. */
  readonly egress: string | undefined;
  /** The host's name, cut off where the session's name ends. */
  readonly host: string;
  /** The address that its connections come from. Undefined for a local socket. */
  readonly from: string | undefined;
};

/** Postgres cuts off a session's name after this many bytes. */
const nameBytesMax = 63;

/** The name of a worker's database sessions, which `doctor` reads. */
export function workerSessionName(egress: Egress, host: string = hostname()): string {
  const machine = createHash("sha256").update(host).digest("hex").slice(0, 8);
  return `bill-sync ${machine} ${egressName(egress) ?? "-"} ${host}`.slice(0, nameBytesMax);
}

/**
 * The workers that are connected to this database. Postgres shows a role only the names of its own
 * sessions.
 */
export async function readWorkerSessions(db: Queryable): Promise<readonly WorkerSession[]> {
  const { rows } = await withDatabaseErrors(() =>
    db.execute<{ name: string; from: string | null }>(sql`
      select distinct
        application_name as name,
        host(client_addr) as from
      from pg_stat_activity
      where datname = current_database()
        and application_name ~ '^bill-sync [0-9a-f]{8} '
      order by name, "from"`),
  );
  return rows.map(({ name, from }) => {
    const [, machine = "", egress = "-", host = ""] = name.split(" ");
    return { machine, egress: egress === "-" ? undefined : egress, host, from: from ?? undefined };
  });
}

/**
 * Pairs of workers that seem to share an address without knowing it, so that their limits add up.
 * No one can tell which address the exchange sees. Two machines that reach the database from one
 * address probably reach the exchange from one address too. The same holds for two private
 * addresses of one machine.
 */
export function unawareOfEachOther(
  sessions: readonly WorkerSession[],
): readonly (readonly [WorkerSession, WorkerSession])[] {
  return sessions.flatMap((one, index) =>
    sessions
      .slice(index + 1)
      .filter((other) => !sharesLimit(one, other) && seemsToShareAddress(one, other))
      .map((other) => [one, other] as const),
  );
}

/** Whether two workers share a limit, by the rule of `countNeighbours`. */
const sharesLimit = (one: WorkerSession, other: WorkerSession): boolean =>
  one.egress === undefined || other.egress === undefined
    ? one.machine === other.machine
    : one.egress === other.egress;

function seemsToShareAddress(one: WorkerSession, other: WorkerSession): boolean {
  if (one.machine !== other.machine) return one.from !== undefined && one.from === other.from;
  return [one, other].every(({ egress = "" }) => isPrivate(egress));
}

/** Whether an address is private: its traffic reaches the internet through another address. */
const isPrivate = (address: string): boolean =>
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|f[cd][0-9a-f]{2}:)/i.test(
    address,
  );
