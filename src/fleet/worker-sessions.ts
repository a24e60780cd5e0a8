import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { type Egress, egressName } from "../db/lease/neighbours.ts";

/** A worker as the database's server sees it. */
export type WorkerSession = {
  /** Tells machines apart whose names are cut off. */
  readonly machine: string;
  /** Undefined where nobody named it. */
  readonly egress: string | undefined;
  /** As much of it as fits. */
  readonly host: string;
  /** The address that its connections come from; undefined for a socket of the server's own machine. */
  readonly from: string | undefined;
};

/** The server keeps this much of a session's name. */
const nameBytesMax = 63;

/** What the server shows of a worker's connections: who it is, for `doctor` to read. */
export function workerSessionName(egress: Egress, host: string = hostname()): string {
  const machine = createHash("sha256").update(host).digest("hex").slice(0, 8);
  return `bill-sync ${machine} ${egressName(egress) ?? "-"} ${host}`.slice(0, nameBytesMax);
}

/** The workers that are connected to this database. A server tells a role of its own sessions only. */
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
 * Pairs of workers that seem to send from one address, and do not know that they share it: their limits
 * add up. Nobody tells from which address the exchange sees a worker. Two machines that reach the
 * database from one address probably reach the exchange from one, too; so do two private addresses of
 * one machine.
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

/** As `countNeighbours` counts. */
const sharesLimit = (one: WorkerSession, other: WorkerSession): boolean =>
  one.egress === undefined || other.egress === undefined
    ? one.machine === other.machine
    : one.egress === other.egress;

function seemsToShareAddress(one: WorkerSession, other: WorkerSession): boolean {
  if (one.machine !== other.machine) return one.from !== undefined && one.from === other.from;
  return [one, other].every(({ egress = "" }) => isPrivate(egress));
}

/** Addresses that no router of the internet knows: what comes from them comes by way of another one. */
const isPrivate = (address: string): boolean =>
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|f[cd][0-9a-f]{2}:)/i.test(
    address,
  );
