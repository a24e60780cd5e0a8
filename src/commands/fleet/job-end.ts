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
 * What becomes of the job whose run ended so. An account that another run holds is being synced, and what
 * is open although nothing failed is for `status` to tell: both are done.
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

/** What the exchange refuses it refuses again, and what is configured wrong stays so. */
function isHopeless(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  if (!(error instanceof ExchangeError)) return false;
  const kinds = ["refused-credentials", "refused-permission", "refused-request"];
  return kinds.includes(error.kind);
}
