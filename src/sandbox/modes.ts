import type { AccountMode } from "../server/source.ts";

/** What an account is from a time on, milliseconds since the Unix epoch. */
export type ModeChange = { readonly at: number; readonly mode: AccountMode };

export const alwaysClassic: readonly ModeChange[] = [
  { at: Number.NEGATIVE_INFINITY, mode: "classic" },
];

/** @param changes oldest first; the first mode is also that of the time before it. */
export const modeAt = (changes: readonly ModeChange[], time: number): AccountMode =>
  (changes.findLast(({ at }) => at <= time) ?? changes[0])?.mode ?? "classic";

/** A stretch of time in which an account's ledger is of one kind, `[from, to)`. */
export type Phase = { readonly isUnified: boolean; readonly from: number; readonly to: number };

/** When bills are booked at all, and into which ledger: in transit nothing is. */
export function phasesOf(changes: readonly ModeChange[], from: number, to: number): Phase[] {
  return changes
    .map(({ at, mode }, index) => ({
      mode,
      from: index === 0 ? from : Math.max(at, from),
      to: Math.min(changes[index + 1]?.at ?? to, to),
    }))
    .filter((phase) => phase.from < phase.to && !isInTransit(phase.mode))
    .map((phase) => ({ ...phase, isUnified: phase.mode !== "classic" }));
}

/** The modes in which an account is served by one of the two APIs; any other is on the way to one. */
export const isInTransit = (mode: AccountMode): boolean =>
  mode !== "classic" && mode !== "unified" && mode !== "hybrid";
