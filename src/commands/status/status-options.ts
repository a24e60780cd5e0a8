import type { Selection } from "../../app/selection.ts";
import type { AlertLimits } from "../../reports/alerts.ts";

export type StatusOptions = {
  readonly json: boolean;
  readonly selection: Selection;
  /** Where the alert rules are to be judged. */
  readonly limits?: AlertLimits | undefined;
  /** At most so many ledgers, the worst first. Default all in JSON, and of a person a hundred. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};
