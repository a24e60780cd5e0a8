import { dayMs } from "../../contract/time.ts";
import type { Day } from "../selection.ts";

export type DayTick = {
  /** The index of the stretch that the tick stands under. */
  readonly index: number;
  readonly text: string;
};

const ticksMax = 6;

type Rule = { readonly isAt: (day: Day) => boolean; readonly textOf: (day: Day) => string };

const dayNumber = (day: Day): number => Date.parse(day) / dayMs;
const month = (day: Day): number => Number(day.slice(5, 7)) - 1;
const isFirst = (day: Day): boolean => day.endsWith("-01");
const ofDay = (day: Day): string => day.slice(5);
const ofMonth = (day: Day): string => day.slice(0, 7);

const everyDays = (days: number): Rule => ({
  isAt: (day) => dayNumber(day) % days === 0,
  textOf: ofDay,
});
const everyMonths = (months: number): Rule => ({
  isAt: (day) => isFirst(day) && month(day) % months === 0,
  textOf: ofMonth,
});
const everyYears = (years: number): Rule => ({
  isAt: (day) => day.endsWith("-01-01") && Number(day.slice(0, 4)) % years === 0,
  textOf: (day) => day.slice(0, 4),
});

// Tried in order: the first rule whose ticks fit on a telephone is used.
const rules: readonly Rule[] = [
  everyDays(1),
  everyDays(2),
  everyDays(7),
  { isAt: (day) => isFirst(day) || day.endsWith("-15"), textOf: ofDay },
  ...[1, 2, 3, 6].map(everyMonths),
  ...[1, 2, 5, 10, 50, 200].map(everyYears),
];

/** @param days the first day of each stretch, in order. */
export function dayTicks(days: readonly Day[]): readonly DayTick[] {
  for (const { isAt, textOf } of rules) {
    const ticks = days.flatMap((day, index) => (isAt(day) ? { index, text: textOf(day) } : []));
    if (ticks.length > 0 && ticks.length <= ticksMax) return ticks;
  }
  return [];
}
