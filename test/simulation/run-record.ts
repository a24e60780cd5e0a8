import type { AccountReport } from "../../src/sync/run.ts";
import type { ServedPage } from "./network.ts";

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
