import {
  ContradictionError,
  CursorError,
  ExchangeError,
  type ExchangeErrorKind,
} from "../../lib/errors.ts";

/** How much of a run a failure ends. */
export function failureScope(error: unknown): "window" | "ledger" | "account" {
  const ofWindow = [CursorError, ContradictionError];
  if (ofWindow.some((kind) => error instanceof kind)) return "window";
  if (!(error instanceof ExchangeError)) return "account";
  switch (error.kind) {
    case "malformed":
    case "time-range":
      return "window";
    case "refused-permission":
    case "refused-request":
    case "unavailable":
    case "rate-limited":
    case "clock":
    case "unknown-code":
      return "ledger";
    case "refused-credentials":
    case "other-mode":
    case "banned":
      return "account";
    default:
      return error.kind satisfies never;
  }
}

/** Whether an error concerns one product type only, so that others may still be served. */
export const isOfProductType = (kind: ExchangeErrorKind): boolean =>
  ["refused-permission", "refused-request", "time-range", "malformed", "unknown-code"].includes(
    kind,
  );
