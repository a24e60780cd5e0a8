import { type Io, tell } from "../../app/io.ts";
import { notFoundAmong, reachableSelection } from "../../app/reachable-accounts.ts";
import { everyLedger } from "../../app/selection.ts";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/connect.ts";
import type { Unreachable } from "../../db/distribution/reachable.ts";
import { UsageError } from "../../errors.ts";
import { type Decision, reopenBreaks, signOffBreaks } from "../../reconciliation/sign-off.ts";
import { formatCounted } from "../../terminal/format.ts";

/** The breaks to sign off and to reopen. Undefined if there are none. */
export type Decisions = {
  readonly accept: Decision | undefined;
  readonly reopen: Decision | undefined;
};

type Words = {
  readonly accept?: string;
  readonly reopen?: string;
  readonly note?: string;
  readonly by?: string;
};

/** @throws UsageError if the options do not go together. */
export function decisionsOf({ accept, reopen, note, by }: Words): Decisions {
  if (accept === undefined && reopen === undefined) {
    if (note !== undefined)
      throw new UsageError("--note needs --accept with the number of a break");
    if (by !== undefined) throw new UsageError("--by needs --accept or --reopen");
  }
  const breakIds = accept === undefined ? [] : numbersOf("--accept", accept);
  if (accept !== undefined && isBlank(note)) {
    throw new UsageError(`--accept ${accept} needs --note "why it is accepted"`);
  }
  if (by !== undefined && isBlank(by)) throw new UsageError("--by needs a name");
  const said = { note: isBlank(note) ? undefined : note?.trim(), by: by?.trim() };
  return {
    accept: accept === undefined ? undefined : { breakIds, ...said },
    reopen: reopen === undefined ? undefined : { breakIds: numbersOf("--reopen", reopen), ...said },
  };
}

const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === "";

// A longer list is a typing error: no ledger was seen with a thousand breaks to sign off.
const numbersMax = 10_000;

/** The numbers of a list such as "3, 4, #7-9", each once. */
function numbersOf(option: string, list: string): readonly number[] {
  const numbers = new Set<number>();
  for (const part of list.split(",")) {
    const [, first, last = first] =
      /^\s*#?([1-9]\d{0,14})(?:\s*-\s*#?([1-9]\d{0,14}))?\s*$/.exec(part) ?? [];
    if (first === undefined) {
      throw new UsageError(
        `${option} "${list}" is not the number of a break; several are written 3,4,7-9`,
      );
    }
    if (Number(last) < Number(first)) {
      throw new UsageError(`${option} "${list}": ${first}-${last} goes backwards`);
    }
    if (numbers.size + Number(last) - Number(first) >= numbersMax) {
      throw new UsageError(`${option} "${list}" names more than ${numbersMax} breaks`);
    }
    for (let id = Number(first); id <= Number(last); id++) numbers.add(id);
  }
  return [...numbers];
}

/** @throws UsageError for --all without --list. */
export function listingOf({ list, all }: { readonly list: boolean; readonly all: boolean }) {
  if (all && !list) throw new UsageError("--all goes with --list");
  return list ? { isAll: all } : undefined;
}

/**
 * Signs off and reopens the named breaks, and says so.
 * @throws UsageError if a number is not that of such a break; DatabaseError if it may be that of an
 * account whose rows cannot be read. Nothing of that list is then changed.
 */
export async function decide(
  { db, config, io }: { readonly db: Database; readonly config: Config; readonly io: Io },
  { accept, reopen }: Decisions,
): Promise<void> {
  if (accept === undefined && reopen === undefined) return;
  // Numbers are of all accounts, whatever else was selected.
  const { selection, unreachable } = await reachableSelection(db, config, everyLedger);
  const { accounts } = selection;
  if (reopen !== undefined) {
    const missing = await reopenBreaks(db, reopen, accounts);
    refuse("--reopen", missing, "break that is signed off", unreachable);
    tell(io, `reopened ${numbered(reopen.breakIds)}`);
  }
  if (accept !== undefined) {
    const missing = await signOffBreaks(db, accept, accounts);
    refuse("--accept", missing, "open break", unreachable);
    const by = accept.by === undefined ? "" : ` by ${accept.by}`;
    tell(io, `signed off ${numbered(accept.breakIds)}${by}: ${accept.note}`);
  }
}

function refuse(
  option: string,
  missing: readonly number[],
  what: string,
  unreachable: readonly Unreachable[],
): void {
  if (missing.length === 0) return;
  const these = missing.length === 1 ? "this number" : "these numbers";
  const none = `${option} ${missing.join(",")}: no ${what} has ${these}`;
  if (unreachable.length > 0) throw notFoundAmong(none, option, unreachable);
  throw new UsageError(
    `${none}; nothing was changed by ${option}, and reconcile --list --all shows them all`,
  );
}

const numbered = (ids: readonly number[]): string =>
  `${formatCounted(ids.length, "break")} (${ids.map((id) => `#${id}`).join(", ")})`;
