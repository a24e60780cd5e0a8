/** A program with one fault: texts of its source, each with its replacement. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly changes: Readonly<Record<string, string>>;
};

/** @throws Error if a text is not in the source exactly once: then the list is out of date. */
export function mutated(source: string, { name, file, changes }: Mutant): string {
  return Object.entries(changes).reduce((changed, [text, instead]) => {
    const times = changed.split(text).length - 1;
    if (times !== 1)
      throw new Error(`mutant "${name}": ${file} holds its text ${times} times: ${text}`);
    // A function, since dollar signs have a meaning in a replacement text.
    return changed.replace(text, () => instead);
  }, source);
}

/** The changes of each broken program that the simulation must notice, by file and name. */
const changesByFile: Readonly<Record<string, Readonly<Record<string, Mutant["changes"]>>>> = {
  "src/core/sync/walk/walk.ts": {
    "coverage to the window's end after an early stop": {
      "    signal.throwIfAborted();\n": `    if (signal.aborted) {
      const requestTime = this.#run.exchangeNow();
      const nothing = { rows: [], rowTexts: () => [], endId: undefined, requestTime };
      return { ...nothing, servedFrom: this.#progress.window.from, request: undefined };
    }
`,
    },
    "a part called read by the first page": {
      "const hasPassed = this.#contradiction === undefined && this.#hasPassedItsWindow;":
        "const hasPassed = this.#progress.window.from > this.#progress.asked.from;",
    },
    "late bills ignored: coverage without the settle lag": {
      "provenTo = settledUntil(settleLagMs, ": "provenTo = settledUntil(0, ",
    },
    "a short page taken for the last": {
      "this.#questions.next === undefined;":
        "this.#questions.next === undefined || read.bills.length + read.rejected.length < 99;",
    },
    "one empty answer taken for the end": {
      "this.#questions.next === undefined;":
        "this.#questions.next === undefined || read.bills.length + read.rejected.length === 0;",
    },
    "a page without an endId taken for the last": {
      "this.#questions.next === undefined;":
        "this.#questions.next === undefined || endId === undefined;",
    },
  },
  "src/core/sync/walk/window-progress.ts": {
    "a part of a window that is handed back, and forgotten": {
      ".map((window, index) => ({": ".slice(1)\n      .map((window, index) => ({",
    },
  },
  "src/core/sync/ledger-run.ts": {
    "the cursor before the rows, in a transaction of its own": {
      "const counts = await store.commitPage(page);": `if ("cursor" in page.next) await store.commitPage({ ...page, bills: [], rejected: [] });
    const counts = await store.commitPage("cursor" in page.next ? { ...page, cursorBefore: page.next.cursor } : page);`,
    },
  },
  "src/core/postgres/connect.ts": {
    "a page without a transaction": {
      "client.query({ text: beginText(client, options) })": "Promise.resolve()",
    },
  },
  "src/core/sync/walk/questions.ts": {
    "windows asked for without the millisecond at their end": {
      "endTime: to, limit:": "endTime: epochMs(to - 1), limit:",
    },
    "no walk by time where ids do not follow the times": {
      "return 2 * order.disorderMs <=": "return 0 * order.disorderMs <=",
    },
    "a cursor stored to go on from though ids do not follow the times": {
      "return this.doIdsFollowTimes ? this.#byId.resumeBelow : undefined;":
        "return this.#byId.resumeBelow;",
    },
  },
  "src/core/sync/walk/pages.ts": {
    "windows asked for without the millisecond at their start": {
      "Math.max(window.from - 1, edge)": "Math.max(window.from, edge)",
    },
  },
  "src/core/sync/walk/out-of-range-rows.ts": {
    "a page of another time believed": {
      "if (isAnother || !outside.every(isLocated)) {": "if (isAnother === undefined) {",
      "return this.#doubtful.size > 0;": "return false;",
    },
  },
  "src/core/words/intervals.ts": {
    "windows that overlap by a millisecond": {
      "Math.min(start + lengthMs, to)": "Math.min(start + lengthMs + 1, to)",
    },
  },
  "src/core/words/plan.ts": {
    "a window that is taken up proves what was not settled when it began": {
      "Math.min(window.to, settledUntil(settleLagMs, startedAt))": "window.to",
    },
    "what a first sync wanted, and did not read, forgotten": {
      ", ...open.map(({ window }) => window)];\n  return epochMs": "];\n  return epochMs",
    },
    "time called lost a day before the exchange forgets it": {
      "epochMs(now - retentionMs + marginMs)": "epochMs(now - retentionMs + marginMs + 86_400_000)",
    },
  },
  "src/core/sync/walk/id-walk.ts": {
    "pages that do not overlap taken for pages that do": {
      "(mayBeCut ? overlap : undefined) ?? askedBelow": "askedBelow",
      "below === undefined ? Number.POSITIVE_INFINITY : 0": "Number.POSITIVE_INFINITY",
    },
  },
  "src/core/exchange/client.ts": {
    "a retry outside the limiter": {
      "await limiter.run(\n            (arrived) => {": `await (attempts === 1 ? limiter.run : (send) => send(() => {}))(
            (arrived) => {`,
    },
    "an answer's impossible time believed": {
      "if (failure === undefined) refuseImpossibleTime(headers, sample);": "",
    },
  },
  "src/core/exchange/rate-limiter.ts": {
    "the limiter's slot freed at the answer": {
      "await sleepUntil(clock, () => sentAt + perMs);": "",
      "await sleepUntil(clock, () => freeAt(endedAt, arrival));": "",
    },
  },
  "src/core/store/ledger-store.ts": {
    "no epoch check": {
      "=> checkLease(tx, this.#lease)": "=> Promise.resolve()",
      "checkLease(tx, this.#lease),\n": "Promise.resolve(),\n",
      // A frozen run notices it by its own clock, too; a run whose machine slept does not.
      "this.#lease.assertHeld?.();\n      return result;": "return result;",
      "this.#lease.assertHeld?.();\n            return writePages": "return writePages",
    },
    "rows that broke the contract dropped": {
      "rejectRows(tx, ledger, rejected)": "Promise.resolve(rejected.length)",
    },
  },
  "src/core/store/verify-store.ts": {
    "a repair that writes nothing": {
      "await writeBills(tx, pages, changesOf(pages, before), before);": "",
    },
    "a bill that is stored otherwise called equal": {
      "if (isSame(before, served)) return [];": "return [];",
    },
  },
  "src/check/reconcile/reconcile.ts": {
    "balances that do not add up not read again": {
      "spans.length === 0 || !(await heal(spans))": "spans.length >= 0 || !(await heal(spans))",
    },
  },
  "src/check/verify/read-again.ts": {
    "time read again by its first page alone": {
      "const isCut =\n": "const isCut = false &&\n",
      "mayBeCut(page.rows.length, pageSizeMax) ||": "mayBeCut(page.rows.length, pageSizeMax) &&",
    },
  },
  "src/core/store/store-bills.ts": {
    "a tax record stored over the bill that a page served": {
      "bills.filter(({ billId }) => !stored.has(billId))": "bills",
    },
  },
  "src/core/store/upsert-bills.ts": {
    "restatements dropped": {
      "last !== undefined && isSame(last.bill, bill)": "last !== undefined",
    },
    "what a restatement replaced not kept": { "[keepReplaced(tx, changes, now)]": "[]" },
    "bills that are stored again counted again": {
      "counted.restated += 1;": "counted.restated += 1, counted.new += 1;",
    },
    "unchanged rows rewritten": {
      "counted.unchanged += 1;": "counted.unchanged += 1; changed.set(key, { productType, bill });",
    },
  },
  "src/core/store/bill-rows.ts": {
    "decimals that pass through numbers": {
      "amount: asPrinted(bill.amount)": "amount: String(Number(bill.amount))",
    },
  },
  "src/core/store/record-plan.ts": {
    "time that was lost not recorded": {
      "lost = ledgers.lost + plan.lost,\n      open": "open",
    },
  },
  "src/core/sync/account-report.ts": {
    "a ledger that failed counts as complete": {
      "        error === undefined &&\n        windowsRead === windowsPlanned &&\n": "",
    },
  },
  "src/core/store/account-key.ts": {
    "another user's key taken": { "? user === owner": "? true" },
    "two names of one user": {
      "and account <> ${account}\n        order by": "and false\n        order by",
    },
    "another account's key taken where its user is not told": {
      "isKnown || !hasKeys || !isRead": "true",
    },
    "what an empty account's key has read not read again": {
      "await forgetCoverage(tx, account, horizon);": "",
    },
  },
  "src/wings/recovery/recover.ts": {
    "tax records believed that differ from the bills": {
      "if (first !== undefined)": "if (this.#requests === 0)",
    },
  },
  "src/wings/recovery/tax-windows.ts": {
    "as many tax records as an answer holds taken for all of its time": {
      "answer.count >= taxRowsMax;": "answer.count > taxRowsMax;",
    },
  },
  "src/core/sync/account-mode.ts": {
    "unified: an account in transit taken for a unified one": {
      "if (unifiedWords.includes(accountMode))": 'if (accountMode !== "")',
    },
    "unified: the mode asked for only once": {
      "  const order =\n": "  if (last !== undefined) return last;\n  const order =\n",
    },
    "unified: ledgers ended a day late": {
      "endLedgersOfOtherMode(tx, name, mode, exchangeNow())":
        "endLedgersOfOtherMode(tx, name, mode, (exchangeNow() + 86_400_000) as never)",
    },
    "unified: ledgers ended only by the run after the first in the new mode": {
      "if (isKnown || !isTold) return [];":
        "if (isKnown || !isTold || ledgers.every((ledger) => ledger.isNeverRead)) return [];",
    },
    "unified: what was not read of a ledger that has ended not told": {
      "known.of(ledger), endedAt) };": "known.of(ledger), endedAt), unread: [] };",
    },
    "unified: an ended ledger's time told up to the newest that was planned": {
      "...readTime(known.of(ledger), endedAt) };":
        "through: undefined, unread: known.of(ledger).open.map((walk) => walk.window) };",
    },
  },
  "src/core/store/accounts/account-states.ts": {
    "unified: ledgers of the mode before left open": {
      "and product_type <> all(": "and false and product_type <> all(",
    },
    "unified: ledgers that have ended never begun again": {
      "and ended_at is not null`);": "and false`);",
    },
  },
  "src/core/contract/unified-bill.ts": {
    "unified: a position's fields dropped": {
      "      ...same,\n": "      ...same,\n      positionBalance: null,\n",
    },
  },
  "src/core/contract/bills-api.ts": {
    "unified: windows longer than may be asked for": {
      "windowMaxMs: intervalMaxMs - 1,\n  // A funding":
        "windowMaxMs: unifiedIntervalMaxMs + 1,\n  // A funding",
    },
    "unified: the cursor four seconds too low": {
      "{ [cursor]: idLessThan }":
        '{ [cursor]: cursor === "cursor" ? String(BigInt(idLessThan) - (4_000n << 22n)) : idLessThan }',
    },
  },
  "src/core/exchange/answer.ts": {
    "unified: 40085 taken for refused credentials": {
      "const unified = otherMode(": "const unified = credentials(",
    },
    "unified: 40084 taken for a request that is refused": {
      'each(notUnified, "40084': 'each(request, "40084',
    },
    "unified: an answer without a byte taken for an empty page": {
      "    return envelope.safeParse(parseExactJson(body)).data;": `    if (body === "") return { code: "00000", data: { list: null } };
    return envelope.safeParse(parseExactJson(body)).data;`,
    },
  },
};

export const mutants: readonly Mutant[] = Object.entries(changesByFile).flatMap(([file, ofFile]) =>
  Object.entries(ofFile).map(([name, changes]) => ({ name, file, changes })),
);
