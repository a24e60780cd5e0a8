/** A program with one fault in it: texts of its source, and what stands in their place. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly changes: readonly (readonly [text: string, instead: string])[];
};

/** Broken programs that the simulation must notice. */
export const mutants: readonly Mutant[] = [
  {
    name: "the checkpoint before the rows, in a transaction of its own",
    file: "src/sync/walk.ts",
    changes: [
      [
        "const counts = await deps.commitPage(page);",
        `if ("cursor" in next) await deps.commitPage({ ...page, bills: [], rejected: [] });
    const counts = await deps.commitPage("cursor" in next ? { ...page, after: next.cursor } : page);`,
      ],
    ],
  },
  {
    name: "a page without a transaction",
    file: "src/db/connect.ts",
    changes: [["await tx.execute(beginText(options));", ""]],
  },
  {
    name: "windows asked for without the millisecond at their end",
    file: "src/sync/walk.ts",
    changes: [["endTime: window.to, idLessThan", "endTime: epochMs(window.to - 1), idLessThan"]],
  },
  {
    name: "windows asked for without the millisecond at their start",
    file: "src/sync/walk.ts",
    changes: [["Math.max(window.from - 1, edge)", "Math.max(window.from, edge)"]],
  },
  {
    name: "windows that overlap by a millisecond",
    file: "src/sync/intervals.ts",
    changes: [["Math.min(start + lengthMs, to)", "Math.min(start + lengthMs + 1, to)"]],
  },
  {
    name: "coverage to the window's end after an early stop",
    file: "src/sync/walk.ts",
    changes: [
      [
        "    deps.signal.throwIfAborted();\n",
        `    if (deps.signal.aborted) {
      const end = endOf(walk, window.from, epochMs(startedAt - deps.settleLagMs));
      const page = { stream, window, startedAt, after: cursor, bills: [], rejected: [], next: { end } };
      await deps.commitPage(page);
      return;
    }
`,
      ],
    ],
  },
  {
    name: "late bills ignored: coverage without the settle lag",
    file: "src/sync/walk.ts",
    changes: [["- deps.settleLagMs)", ")"]],
  },
  {
    name: "a window that is taken up proves what was not settled when it began",
    file: "src/sync/plan.ts",
    changes: [["Math.min(window.to, startedAt - settleLagMs)", "window.to"]],
  },
  {
    name: "a short page taken for the last",
    file: "src/sync/walk.ts",
    changes: [
      ["rows.length === 0 || endId === undefined", "rows.length < 100 || endId === undefined"],
    ],
  },
  {
    name: "an empty page with a cursor not taken for the last",
    file: "src/sync/walk.ts",
    changes: [["rows.length === 0 || endId === undefined", "endId === undefined"]],
  },
  {
    name: "a cursor that is no bill of its page believed",
    file: "src/sync/unbelievable-pages.ts",
    changes: [
      ["if (ids.includes(endId)) return", "if (ids.includes(endId) || bills.length > 0) return"],
    ],
  },
  {
    name: "a page of another time believed",
    file: "src/sync/walk.ts",
    changes: [["if (stray !== undefined) {", "if (false) {"]],
  },
  {
    name: "a cursor that is wrong stored with its page",
    file: "src/sync/walk.ts",
    changes: [["      : { cursor: goesOnAt };", "      : { cursor: endId };"]],
  },
  {
    name: "a retry outside the limiter",
    file: "src/exchange/client.ts",
    changes: [
      [
        "await limiter.run(\n            (arrived) => {",
        "await (attempts === 1 ? limiter.run : (send) => send(() => {}))(\n            (arrived) => {",
      ],
    ],
  },
  {
    name: "the limiter's slot freed at the answer",
    file: "src/exchange/rate-limiter.ts",
    changes: [
      ["await sleepUntil(clock, () => sentAt + limit.perMs);", ""],
      ["await sleepUntil(clock, () => freeAt(endedAt, arrival));", ""],
    ],
  },
  {
    name: "no epoch check",
    file: "src/db/lease.ts",
    changes: [["if (rows.length === 0) throw leases.lost(account);", ""]],
  },
  {
    name: "restatements dropped",
    file: "src/db/upsert-bills.ts",
    changes: [
      [
        "where bill_id not in (select bill_id from stored where not is_restated)",
        "where bill_id not in (select bill_id from stored)",
      ],
    ],
  },
  {
    name: "what a restatement replaced not kept",
    file: "src/db/upsert-bills.ts",
    changes: [["      where is_restated\n", "      where false\n"]],
  },
  {
    name: "bills that are stored again counted again",
    file: "src/db/upsert-bills.ts",
    changes: [["counted.new -= unchanged + restated;", "counted.new -= unchanged;"]],
  },
  {
    name: "unchanged rows rewritten",
    file: "src/db/upsert-bills.ts",
    changes: [
      ["where bill_id not in (select bill_id from stored where not is_restated)", ""],
      ['content("excluded")', 'sql.raw("(" + columns.map(() => "null").join(", ") + ")")'],
    ],
  },
  {
    name: "decimals that pass through numbers",
    file: "src/db/upsert-bills.ts",
    changes: [["({ amount }) => amount)", "({ amount }) => String(Number(amount)))"]],
  },
  {
    name: "rows that broke the contract dropped",
    file: "src/db/store.ts",
    changes: [["await rejectRows(tx, page.stream, runId, page.rejected)", "page.rejected.length"]],
  },
  {
    name: "time that expired not recorded",
    file: "src/db/checkpoints.ts",
    changes: [["for (const window of plan.expired) {", "for (const window of []) {"]],
  },
  {
    name: "what a first sync wanted, and did not read, forgotten",
    file: "src/sync/plan.ts",
    changes: [
      [", ...open.map(({ window }) => window)];\n  return epochMs", "];\n  return epochMs"],
    ],
  },
  {
    name: "time called lost a day before the exchange forgets it",
    file: "src/sync/plan.ts",
    changes: [
      ["epochMs(now - historyMs + marginMs)", "epochMs(now - historyMs + marginMs + 86_400_000)"],
    ],
  },
  {
    name: "a stream that failed counts as complete",
    file: "src/sync/run.ts",
    changes: [
      ["        error === undefined &&\n        windows.walked === windows.planned &&\n", ""],
    ],
  },
  {
    name: "an answer's impossible time believed",
    file: "src/exchange/client.ts",
    changes: [["if (failure === undefined) refuseImpossibleTime(headers, sample);", ""]],
  },
  {
    name: "a verification that takes the whole limit",
    file: "src/commands/exchange.ts",
    changes: [["beGuest: () => resize(guestRequests)", "beGuest: () => resize(requests)"]],
  },
  {
    name: "a verification that does not wait for room",
    file: "src/db/guest.ts",
    changes: [["await waitForRoom(db, guest, options);", ""]],
  },
  {
    name: "a repair that writes nothing",
    file: "src/db/verify-store.ts",
    changes: [["await upsertBills(tx, [{ stream, bills }]);", ""]],
  },
  {
    name: "a bill that is stored otherwise called equal",
    file: "src/db/verify-store.ts",
    changes: [
      [
        "where kept.bill_id is null\n      or ${content",
        "where kept.bill_id is null\n      or false and ${content",
      ],
    ],
  },
];

/** @throws Error where a text is not in the source exactly once: the list has gone stale. */
export function mutated(source: string, { name, file, changes }: Mutant): string {
  return changes.reduce((changed, [text, instead]) => {
    const times = changed.split(text).length - 1;
    if (times !== 1) {
      throw new Error(`mutant "${name}": ${file} holds its text ${times} times: ${text}`);
    }
    // A function, since a text's dollar signs mean something in a replacement.
    return changed.replace(text, () => instead);
  }, source);
}
