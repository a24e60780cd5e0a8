import { setImmediate } from "node:timers/promises";
import {
  begin,
  commitText,
  type Database,
  type Transaction,
  type TransactionOptions,
  transactionOn,
} from "./connect.ts";
import {
  assertCommitted,
  connectionOf,
  isCommit,
  isRefused,
  withConnection,
} from "./connections.ts";

/** Work that sends its reads with BEGIN, and its writes with COMMIT. */
type TwoRoundTrips<T, Read> = {
  read(tx: Transaction): Promise<Read>;
  /** Sends all its statements before it waits for an answer: a later one would miss the transaction. */
  write(tx: Transaction, read: Read): Promise<T>;
  /** Whether COMMIT waits for what `write` makes of its answers, for a third round trip. Default false. */
  commitWaits?(read: Read): boolean;
  /** Called where the transaction fails, and may have been committed all the same. */
  onUnanswered?(): void;
};

/**
 * Runs work in one transaction of two round trips. Where a statement of `write` fails on the server, COMMIT
 * undoes the transaction. Where the connection breaks, nobody knows whether COMMIT arrived.
 */
export function inTwoRoundTrips<T, Read>(
  db: Database,
  { read, write, commitWaits, onUnanswered }: TwoRoundTrips<T, Read>,
  options: TransactionOptions = {},
): Promise<T> {
  return withConnection(db.$client.connect(), options, async (client) => {
    const found = await begin(client, read, options);
    const { stream } = connectionOf(client);
    stream.cork();
    const writing = Promise.try(write, transactionOn(client), found);
    let isFailed = commitWaits?.(found) ?? false;
    writing.catch(() => {
      isFailed = true;
    });
    // Until Drizzle has handed over all statements, or the work has failed before it sent them.
    await setImmediate();
    const committing = isFailed ? undefined : client.query(commitText);
    stream.uncork();
    if (committing === undefined) {
      const result = await writing;
      assertCommitted(await client.query(commitText));
      return result;
    }
    const [written, committed] = await Promise.allSettled([writing, committing]);
    if (written.status === "fulfilled" && committed.status === "fulfilled") {
      assertCommitted(committed.value);
      return written.value;
    }
    if (committed.status === "rejected" ? !isRefused(committed.reason) : isCommit(committed.value))
      onUnanswered?.();
    throw [written, committed].find((settled) => settled.status === "rejected")?.reason;
  });
}
