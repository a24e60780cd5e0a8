import { errorText } from "../../app/exit-code.ts";
import {
  AccountHeldError,
  ExchangeError,
  firstThrown,
  StoppedError,
  UsageError,
} from "../../errors.ts";
import type { JobEnd } from "../../fleet/task.ts";
import { errorsOf, type SyncResult } from "../sync/sync-result.ts";

/**
 * How a sync's job ends. Two cases without success count as done: an account that another run
 * holds, since that run syncs it, and a run without errors that left something open, which `status`
 * reports.
 */
export const jobEndOf = (result: SyncResult): JobEnd => jobEndOfErrors(errorsOf(result));

export const jobEndOfThrown = (error: unknown): JobEnd => jobEndOfErrors([error]);

function jobEndOfErrors(thrown: readonly unknown[]): JobEnd {
  const errors = thrown.map(firstThrown).filter((error) => !(error instanceof AccountHeldError));
  if (errors.some((error) => error instanceof StoppedError)) return { is: "given back" };
  const why = errorText(errors);
  if (why === null) return { is: "done" };
  return { is: errors.every(isHopeless) ? "hopeless" : "failed", why };
}

/** A refused request is refused again, and a wrong configuration stays wrong. */
function isHopeless(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  if (!(error instanceof ExchangeError)) return false;
  const kinds = ["refused-credentials", "refused-permission", "refused-request"];
  return kinds.includes(error.kind);
}
