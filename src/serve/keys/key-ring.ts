import { statSync } from "node:fs";
import { secondMs } from "../../contract/time.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { type MirrorKey, readKeys } from "./key-file.ts";

/** The keys by their API keys, as they stand in the file by now. */
export type KeyRing = () => ReadonlyMap<string, MirrorKey>;

// A key that was removed is refused after this time at the latest.
const lookMs = secondMs;

/** A file that was broken since lets nobody in: a key that was meant to be removed may be in the old one. */
export function openKeyRing(path: string, now: () => number, log: Pick<Log, "error">): KeyRing {
  let keys = byApiKey(readKeys(path));
  let version = versionOf(path);
  let lookedAt = now();
  return () => {
    const at = now();
    if (Math.abs(at - lookedAt) < lookMs) return keys;
    lookedAt = at;
    const current = versionOf(path);
    if (current === version) return keys;
    version = current;
    try {
      keys = byApiKey(readKeys(path));
    } catch (error) {
      keys = new Map();
      log.error({ error: messageOf(error) }, "the keys cannot be read; every request is refused");
    }
    return keys;
  };
}

const byApiKey = (keys: readonly MirrorKey[]): ReadonlyMap<string, MirrorKey> =>
  new Map(keys.map((key) => [key.apiKey, key]));

/** A file that was replaced is another one, even within the clock's tick. */
function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "none" : `${stats.ino} ${stats.mtimeNs} ${stats.mode}`;
}
