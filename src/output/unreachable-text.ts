import { printableLine } from "../printable.ts";
import { formatCount } from "./format.ts";

/** An account whose rows cannot be read, and why. */
type Unreachable = { readonly account: string; readonly error: Error };

/** How many accounts a person is shown for each reason. JSON has all. */
const shownMax = 10;

/** A line for each reason why accounts could not be reached. */
export function unreachableLines(unreachable: readonly Unreachable[]): readonly string[] {
  const byReason = Map.groupBy(unreachable, ({ error }) => error.message);
  return [...byReason].map(([message, those]) => {
    const names = those.slice(0, shownMax).map(({ account }) => printableLine(account));
    const more = those.length - shownMax;
    return `${names.join(", ")}${more > 0 ? ` and ${formatCount(more)} more` : ""}: ${message}`;
  });
}

/** The unreachable accounts for programs. */
export const unreachableJson = (unreachable: readonly Unreachable[]) => ({
  unreachable: unreachable.map(({ account, error }) => ({ account, error: error.message })),
});
