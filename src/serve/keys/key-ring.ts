import { statSync } from "node:fs";
import { secondMs } from "../../contract/time.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { type MirrorKey, readKeys } from "./key-file.ts";

/** The current keys of the file, by API key. */
export type KeyRing = () => ReadonlyMap<string, MirrorKey>;

// A removed key is refused after at most this time.
const lookMs = secondMs;

/**
 * If the file becomes unreadable, every request is refused: the last keys that were read may
 * include a key that was since removed.
 */
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

/**
 * Identifies the file's content. A replaced file has another inode, even within one tick of the
 * clock.
 */
function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "none" : `${stats.ino} ${stats.mtimeNs} ${stats.mode}`;
}
