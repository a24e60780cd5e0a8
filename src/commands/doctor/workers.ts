import type { Queryable } from "../../db/connect.ts";
import {
  readWorkerSessions,
  unawareOfEachOther,
  type WorkerSession,
} from "../../fleet/worker-sessions.ts";
import { formatCounted } from "../../output/format.ts";
import { printableLine } from "../../printable.ts";
import { type Check, ok } from "./check.ts";

const nameOf = ({ host, egress }: WorkerSession): string =>
  printableLine(egress === undefined ? host : `${host} (${egress})`);

/**
 * Whether running workers share an address without sharing its limit. Undefined if no worker runs.
 */
export async function checkWorkers(db: Queryable): Promise<Check | undefined> {
  const name = "workers";
  const sessions = await readWorkerSessions(db);
  if (sessions.length === 0) return undefined;
  const pairs = unawareOfEachOther(sessions);
  const [first] = pairs;
  if (first === undefined)
    return ok(name, "those that are connected share the limits of their addresses");
  const more = pairs.length === 1 ? "" : `, and ${formatCounted(pairs.length - 1, "other pair")}`;
  return {
    status: "warn",
    name,
    found:
      `${nameOf(first[0])} and ${nameOf(first[1])}${more} seem to send from one address, and ` +
      "each uses its whole rate limit",
    remedy: "start them with the same --egress NAME, or ignore this if their addresses differ",
  };
}
