import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Log } from "../../../commands/log.ts";
import { productTypes } from "../../../core/contract/product-types.ts";
import { errorCode, messageOf, UsageError } from "../../../lib/errors.ts";
import { readTextFile } from "../../../lib/text-file.ts";
import { secondMs } from "../../../lib/time.ts";
import { makeWholeFile, type WholeFile } from "../../../lib/whole-file.ts";

/** How the answers to a key treat incomplete time. */
export const incompleteAnswers = ["refuse", "trim", "allow"] as const;

const mirrorKey = z.strictObject({
  name: z.string(),
  apiKey: z.string(),
  // In clear text: checking an HMAC needs the secret itself.
  apiSecret: z.string(),
  apiPassphrase: z.string(),
  account: z.string(),
  /** The product types that the key may read. Default all of the account. */
  productTypes: z.array(z.enum(productTypes)).readonly().optional(),
  /**
   * How its answers treat incomplete time: `refuse` refuses them, `trim` leaves out the time before the first coverage
   * and refuses the rest, and `allow` answers.
   */
  incomplete: z.enum(incompleteAnswers),
  createdAt: z.string(),
});

const file = z.strictObject({ keys: z.array(mirrorKey) });

/** The key of a client of the server. It reads one account, like a key of the exchange. */
export type MirrorKey = Readonly<z.output<typeof mirrorKey>>;

/** No key of the exchange begins like this, so the server can tell when one was sent by mistake. */
export const keyPrefix = "mirror_";

const token = (bytes: number): string => randomBytes(bytes).toString("hex");

export const newKey = (
  what: Pick<MirrorKey, "name" | "account" | "productTypes" | "incomplete">,
  now: Date,
): MirrorKey => ({
  ...what,
  apiKey: `${keyPrefix}${token(16)}`,
  apiSecret: token(32),
  apiPassphrase: token(10),
  // In whole seconds, as all times in JSON.
  createdAt: `${now.toISOString().slice(0, 19)}Z`,
});

/**
 * The keys of a file; none if there is no file.
 * @throws UsageError if others may read the file, or if {@link changeKeys} did not write it.
 */
export function readKeys(path: string): readonly MirrorKey[] {
  if (!existsSync(path)) return [];
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new UsageError(
      `${path} holds secrets, and other users may read it; run chmod 600 ${path}`,
    );
  }
  try {
    return file.parse(JSON.parse(readTextFile(path))).keys;
  } catch (error) {
    // The parser's message may quote a secret.
    const why = error instanceof SyntaxError || error instanceof z.ZodError ? "" : messageOf(error);
    throw new UsageError(
      `${path} cannot be read as a file of keys${why && ` (${why})`}; correct it, or remove it and add the keys again`,
    );
  }
}

/**
 * Replaces the file's keys by what `change` makes of them: a concurrent reader sees all the old keys or all the new
 * ones. Concurrent changes run one after the other: a key that was shown is in the file, and a removed key stays
 * removed.
 * @throws UsageError if the file cannot be written, and what `change` throws.
 */
export async function changeKeys(
  path: string,
  change: (keys: readonly MirrorKey[]) => readonly MirrorKey[],
): Promise<void> {
  await using file = await makeAlone(path);
  try {
    const keys = change(readKeys(path));
    await file.write(`${JSON.stringify({ keys }, undefined, 2)}\n`);
    await file.commit();
  } catch (error) {
    throw error instanceof UsageError ? error : cannotWrite(path, error);
  }
}

/** Waits while another process changes the keys, which takes some milliseconds. */
async function makeAlone(path: string): Promise<WholeFile> {
  const partial = `${path}.next`;
  for (let waitedMs = 0; waitedMs < othersMaxMs; waitedMs += retryMs) {
    try {
      return await makeWholeFile(path, { partial });
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw cannotWrite(path, error);
      await delay(retryMs);
    }
  }
  throw new UsageError(
    `${partial} exists: another command is changing the keys, or was killed while it did; remove ` +
      `the file if no such command runs`,
  );
}

const othersMaxMs = 5 * secondMs;
const retryMs = 20;

const cannotWrite = (path: string, error: unknown) =>
  new UsageError(
    `${path} cannot be written (${messageOf(error)}); correct its folder's permissions`,
  );

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

/** Identifies the file's content. A replaced file has another inode, even within one tick of the clock. */
function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "none" : `${stats.ino} ${stats.mtimeNs} ${stats.mode}`;
}
