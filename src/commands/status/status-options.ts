import type { Selection } from "../../app/selection.ts";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/connect.ts";
import type { AlertLimits } from "../../reports/alerts.ts";

export type StatusOptions = {
  readonly json: boolean;
  readonly selection: Selection;
  /** Where the alert rules are to be judged. */
  readonly limits?: AlertLimits | undefined;
  /** At most so many ledgers, the worst first. Default 10,000 in JSON, and of a person a hundred. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

export type StatusDeps = {
  readonly db: Database;
  readonly configOf: (accounts: readonly string[] | undefined) => Config;
};

/** What a status has to say. */
export type Told = {
  readonly document: () => object;
  readonly text: () => string;
  /** How many rules fire; none where they are not to be judged. */
  readonly alerts: number;
};
