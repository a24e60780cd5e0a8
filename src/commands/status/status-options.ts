import type { Selection } from "../../app/selection.ts";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/connect.ts";
import type { AlertLimits } from "../../reports/alerts.ts";
import type { ShownAlert } from "./alerts-status.ts";

export type StatusOptions = {
  readonly json: boolean;
  readonly selection: Selection;
  /** The limits of the alert rules; undefined if they are not to be evaluated. */
  readonly limits?: AlertLimits | undefined;
  /**
   * The most ledgers to show, worst first. Default 10,000 in JSON or for named accounts, and
   * otherwise 100.
   */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

export type StatusDeps = {
  readonly db: Database;
  readonly configOf: (accounts: readonly string[] | undefined) => Config;
};

/** A status to print. The document and the text are without the alerts. */
export type Told = {
  readonly document: () => object;
  readonly text: () => string;
  /** The firing rules; undefined if they are not to be evaluated. */
  readonly alerts: readonly ShownAlert[] | undefined;
};
