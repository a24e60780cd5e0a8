import type { Log } from "../../src/commands/log.ts";
import {
  type Database,
  readOnly,
  readOnlyAtOnce,
  urgently,
} from "../../src/core/postgres/connect.ts";
import type { ServeDeps } from "../../src/wings/serve/route-group.ts";
import { unconfigured } from "./roster.ts";

/** A log of which each line is kept. */
export function keptLog() {
  const lines: unknown[] = [];
  const take = (...line: unknown[]) => void lines.push(line);
  const log = { debug: take, info: take, warn: take, error: take } as unknown as Log;
  return { log, lines: lines as readonly unknown[] };
}

/** What a server needs that reads these tables: by default now, without keys, and with no configuration. */
export const serverDeps = (db: Database, but: Partial<ServeDeps> = {}): ServeDeps => ({
  read: readOnly(db),
  readAtOnce: readOnlyAtOnce(db, true),
  readFirst: (work) => urgently(db, work),
  keys: () => new Map(),
  now: Date.now,
  ...unconfigured,
  log: keptLog().log,
  ...but,
});
