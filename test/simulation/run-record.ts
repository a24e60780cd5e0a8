import type { ProductType } from "../../src/contract/product-types.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import type { AccountReport } from "../../src/sync/run.ts";
import type { KeyKind } from "./history.ts";
import type { ServedPage } from "./network.ts";
import type { VerifyOutcome } from "./verify-process.ts";

/** One sync of a history, and its result. */
export type Run = {
  readonly name: string;
  readonly key: KeyKind;
  /** Whether its key is to be refused: it is another user's, or its user has another name already. */
  readonly isForeign: boolean;
  /** Whether no other run of its step has begun, which may have read its time. */
  isAlone: boolean;
  /** The exchange's time. */
  readonly beganAt: number;
  endedAt: number;
  report: AccountReport | "killed" | undefined;
  /** Whether there were no faults around it. */
  isFaultless: boolean;
  isOvertaken: boolean;
  /** What is wrong with the plan that it is about to record. */
  planFaults: readonly string[];
  /** The pages that its walks received. */
  readonly pages: ServedPage[];
};

/** One `verify --repair` of a history, and its result. */
export type Verification = {
  readonly name: string;
  readonly beganAt: number;
  readonly span: Interval;
  /** The account's product types when it begins. */
  readonly productTypes: readonly ProductType[];
  endedAt: number;
  outcome: VerifyOutcome | "killed" | undefined;
};
