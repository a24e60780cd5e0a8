import { timeText } from "./time-checks.ts";

// Milliseconds since the epoch, from 2001 to 2033, that are not part of a longer number.
const times = /(?<![\d.])1\d{12}(?:\.\d+)?(?!\d)/g;

/** A line of a history's trace for people, with its times as ISO 8601. */
export const readable = (line: string): string =>
  line.replaceAll(times, (time) => timeText(Number(time)));
