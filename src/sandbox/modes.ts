import type { WireAccountMode } from "../exchange-server/source.ts";

/** The account's mode from a time on, in milliseconds since the Unix epoch. */
export type ModeChange = { readonly at: number; readonly mode: WireAccountMode };

export const alwaysClassic: readonly ModeChange[] = [
  { at: Number.NEGATIVE_INFINITY, mode: "classic" },
];

/** @param changes oldest first. The first mode also applies to the time before it. */
export const modeAt = (changes: readonly ModeChange[], time: number): WireAccountMode =>
  (changes.findLast(({ at }) => at <= time) ?? changes[0])?.mode ?? "classic";

/** An interval `[from, to)` in which an account's ledger is of one kind. */
export type Phase = { readonly isUnified: boolean; readonly from: number; readonly to: number };

/**
 * The intervals in which bills are booked, and the kind of ledger. In transit no bill is booked.
 */
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

/**
 * Whether the account is on its way between the two APIs. In the modes classic, unified and hybrid,
 * one of the APIs serves it.
 */
export const isInTransit = (mode: WireAccountMode): boolean =>
  mode !== "classic" && mode !== "unified" && mode !== "hybrid";
