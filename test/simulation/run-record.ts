import type { ProductType } from "../../src/contract/product-types.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import type { AccountReport } from "../../src/sync/run.ts";
import type { ServedPage } from "./network.ts";
import type { VerifyOutcome } from "./verify-process.ts";

/** One sync of a history, and what became of it. */
export type Run = {
  readonly name: string;
  /** Of those of its step. */
  readonly isFirst: boolean;
  /** The exchange's time. */
  readonly beganAt: number;
  endedAt: number;
  report: AccountReport | "killed" | undefined;
  /** Whether nothing went wrong around it. */
  isFaultless: boolean;
  isOvertaken: boolean;
  /** What is wrong with the plan that it is about to record. */
  planFaults: readonly string[];
  /** What reached it of its walks. */
  readonly pages: ServedPage[];
};

/** One `verify --heal` of a history, and what became of it. */
export type Verification = {
  readonly name: string;
  readonly beganAt: number;
  readonly span: Interval;
  /** Those that the account has while it begins. */
  readonly productTypes: readonly ProductType[];
  endedAt: number;
  outcome: VerifyOutcome | "killed" | undefined;
};
