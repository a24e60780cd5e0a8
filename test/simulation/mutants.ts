/** A program with one fault: texts of its source, and their replacements. */
export type Mutant = {
  readonly name: string;
  readonly file: string;
  readonly changes: readonly (readonly [text: string, instead: string])[];
};

/** @throws Error if a text is not in the source exactly once: then the list is out of date. */
export function mutated(source: string, { name, file, changes }: Mutant): string {
  return changes.reduce((changed, [text, instead]) => {
    const times = changed.split(text).length - 1;
    if (times !== 1) {
      throw new Error(`mutant "${name}": ${file} holds its text ${times} times: ${text}`);
    }
    // A function, since dollar signs have a meaning in a replacement text.
    return changed.replace(text, () => instead);
  }, source);
}

/** Broken programs that the simulation must notice. */
export const mutants: readonly Mutant[] = [
  {
    name: "the cursor before the rows, in a transaction of its own",
    file: "src/sync/walk/walk.ts",
    changes: [
      [
        "const counts = await this.#deps.commitPage(page);",
        `if ("cursor" in next) await this.#deps.commitPage({ ...page, bills: [], rejected: [] });
    const counts = await this.#deps.commitPage("cursor" in next ? { ...page, after: next.cursor } : page);`,
      ],
    ],
  },
  {
    name: "a page without a transaction",
    file: "src/db/connect.ts",
    changes: [["client.query({ text: beginText(options) })", "Promise.resolve()"]],
  },
  {
    name: "windows asked for without the millisecond at their end",
    file: "src/sync/walk/questions.ts",
    changes: [["endTime: to, limit:", "endTime: epochMs(to - 1), limit:"]],
  },
  {
    name: "windows asked for without the millisecond at their start",
    file: "src/sync/walk/pages.ts",
    changes: [["Math.max(window.from - 1, edge)", "Math.max(window.from, edge)"]],
  },
  {
    name: "windows that overlap by a millisecond",
    file: "src/sync/intervals.ts",
    changes: [["Math.min(start + lengthMs, to)", "Math.min(start + lengthMs + 1, to)"]],
  },
  {
    name: "coverage to the window's end after an early stop",
    file: "src/sync/walk/walk.ts",
    changes: [
      [
        "    deps.signal.throwIfAborted();\n",
        "    if (deps.signal.aborted) return windowWalk.stop();\n",
      ],
      [
        "  get name(): string {",
        `  async stop() {
    const end = this.#endAt(this.#window.from);
    await this.#commit({ bills: [], rejected: [], number: 0, end });
  }

  get name(): string {`,
      ],
    ],
  },
  {
    name: "late bills ignored: coverage without the settle lag",
    file: "src/sync/walk/walk.ts",
    changes: [["provenTo = settledTo(settleLagMs, ", "provenTo = settledTo(0, "]],
  },
  {
    name: "a window that is taken up proves what was not settled when it began",
    file: "src/sync/plan.ts",
    changes: [["Math.min(window.to, settledTo(settleLagMs, startedAt))", "window.to"]],
  },
  {
    name: "a short page taken for the last",
    file: "src/sync/walk/walk.ts",
    changes: [
      [
        "this.#questions.next === undefined;",
        "this.#questions.next === undefined || read.bills.length + read.rejected.length < 99;",
      ],
    ],
  },
  {
    name: "one empty answer taken for the end",
    file: "src/sync/walk/walk.ts",
    changes: [
      [
        "this.#questions.next === undefined;",
        "this.#questions.next === undefined || read.bills.length + read.rejected.length === 0;",
      ],
    ],
  },
  {
    name: "a page without an endId taken for the last",
    file: "src/sync/walk/walk.ts",
    changes: [
      [
        "this.#questions.next === undefined;",
        "this.#questions.next === undefined || endId === undefined;",
      ],
    ],
  },
  {
    name: "pages that do not overlap taken for pages that do",
    file: "src/sync/walk/id-walk.ts",
    changes: [
      ["(isFull ? overlap : undefined) ?? askedBelow", "askedBelow"],
      ["below === undefined ? Number.POSITIVE_INFINITY : 0", "Number.POSITIVE_INFINITY"],
    ],
  },
  {
    name: "no walk by time where ids do not follow the times",
    file: "src/sync/walk/questions.ts",
    changes: [["return 2 * order.disorderMs <=", "return 0 * order.disorderMs <="]],
  },
  {
    name: "a page of another time believed",
    file: "src/sync/walk/pages.ts",
    changes: [
      ["if (isAnother || !strays.every(isPlaced)) {", "if (isAnother === undefined) {"],
      ["return this.#doubtful.size > 0;", "return false;"],
    ],
  },
  {
    name: "a cursor stored to go on from though ids do not follow the times",
    file: "src/sync/walk/questions.ts",
    changes: [
      [
        "return this.#doIdsFollow ? this.#byId.resumeBelow : undefined;",
        "return this.#byId.resumeBelow;",
      ],
    ],
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
      ["await sleepUntil(clock, () => sentAt + perMs);", ""],
      ["await sleepUntil(clock, () => freeAt(endedAt, arrival));", ""],
    ],
  },
  {
    name: "no epoch check",
    file: "src/ledger/ledger-store.ts",
    changes: [
      ["checkLease(tx, lease), look(tx)", 'Promise.resolve("infinity"), look(tx)'],
      // A frozen run notices it by its own clock, too; a run whose machine slept does not.
      ["lease.assertHeld?.();\n      return result;", "return result;"],
      ["lease.assertHeld?.();\n              return writePages", "return writePages"],
    ],
  },
  {
    name: "restatements dropped",
    file: "src/ledger/upsert-bills.ts",
    changes: [["last !== undefined && isSame(last.bill, bill)", "last !== undefined"]],
  },
  {
    name: "new bills not added to their days",
    file: "src/ledger/upsert-bills.ts",
    changes: [["written, rewritten)", "[], rewritten)"]],
  },
  {
    name: "replaced bills not taken out of their days",
    file: "src/ledger/upsert-bills.ts",
    changes: [["takeOutOfDays(tx, account, rewritten)", "takeOutOfDays(tx, account, [])"]],
  },
  {
    name: "what a restatement replaced not kept",
    file: "src/ledger/upsert-bills.ts",
    changes: [["[keepReplaced(tx, changes, now)]", "[]"]],
  },
  {
    name: "bills that are stored again counted again",
    file: "src/ledger/upsert-bills.ts",
    changes: [["counted.restated += 1;", "counted.restated += 1, counted.new += 1;"]],
  },
  {
    name: "unchanged rows rewritten",
    file: "src/ledger/upsert-bills.ts",
    changes: [
      [
        "counted.unchanged += 1;",
        "counted.unchanged += 1; changed.set(key, { productType, bill });",
      ],
    ],
  },
  {
    name: "decimals that pass through numbers",
    file: "src/ledger/bill-rows.ts",
    changes: [["amount: asPrinted(bill.amount)", "amount: String(Number(bill.amount))"]],
  },
  {
    name: "rows that broke the contract dropped",
    file: "src/ledger/write-pages.ts",
    changes: [["rejectRows(tx, ledger, rejected)", "Promise.resolve(rejected.length)"]],
  },
  {
    name: "time that was lost not recorded",
    file: "src/ledger/record-time.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
    changes: [["`lost + ${multirange(plan.lost)}`", "`lost`"]],
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
      [
        "epochMs(now - retentionMs + marginMs)",
        "epochMs(now - retentionMs + marginMs + 86_400_000)",
      ],
    ],
  },
  {
    name: "a ledger that failed counts as complete",
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
    name: "a repair that writes nothing",
    file: "src/ledger/ledger-store.ts",
    changes: [["await writeBills(tx, pages, changesOf(pages, before), before);", ""]],
  },
  {
    name: "a bill that is stored otherwise called equal",
    file: "src/ledger/ledger-store.ts",
    changes: [["if (isSame(before, served)) return [];", "return [];"]],
  },
  {
    name: "another user's key taken",
    file: "src/ledger/account-key.ts",
    changes: [["return told === userId;", "return true;"]],
  },
  {
    name: "two names of one user",
    file: "src/ledger/account-key.ts",
    changes: [["accounts.find((name) => name !== account)", "accounts.find(() => false)"]],
  },
  {
    name: "another account's key taken where its user is not told",
    file: "src/ledger/account-key.ts",
    changes: [["keys.length === 0 || !isRead || keys.includes(fingerprint)", "true"]],
  },
  {
    name: "what an empty account's key has read not read again",
    file: "src/ledger/account-key.ts",
    changes: [["await forgetCoverage(tx, account, isOtherUser ? undefined : horizon);", ""]],
  },
  {
    name: "tax records believed that differ from the bills",
    file: "src/sync/recover.ts",
    changes: [["if (differing.length + rejected.length > 0) {", "if (this.#requests === 0) {"]],
  },
  {
    name: "a tax record stored over the bill that a page served",
    file: "src/ledger/recovery.ts",
    changes: [["bills.filter(({ billId }) => !stored.has(billId))", "bills"]],
  },
  {
    name: "as many tax records as an answer holds taken for all of its time",
    file: "src/sync/tax-windows.ts",
    changes: [["answer.count >= taxRowsMax;", "answer.count > taxRowsMax;"]],
  },
  {
    name: "unified: an account in transit taken for a unified one",
    file: "src/sync/account-mode.ts",
    changes: [["if (unifiedWords.includes(accountMode))", 'if (accountMode !== "")']],
  },
  {
    name: "unified: ledgers of the mode before left open",
    file: "src/db/accounts/account-states.ts",
    changes: [["and product_type <> all(", "and false and product_type <> all("]],
  },
  {
    name: "unified: ledgers that are closed never opened again",
    file: "src/db/accounts/account-states.ts",
    changes: [["and closed_at is not null`);", "and false`);"]],
  },
  {
    name: "unified: a position's fields dropped",
    file: "src/contract/unified-bill.ts",
    changes: [["      ...same,\n", "      ...same,\n      positionBalance: null,\n"]],
  },
  {
    name: "unified: windows longer than may be asked for",
    file: "src/contract/bills-api.ts",
    changes: [
      [
        "windowMaxMs: intervalMaxMs - 1,\n  // A funding",
        "windowMaxMs: unifiedIntervalMaxMs + 1,\n  // A funding",
      ],
    ],
  },
  {
    name: "unified: the mode asked for only once",
    file: "src/sync/account-mode.ts",
    changes: [["  const order =\n", "  if (last !== undefined) return last;\n  const order =\n"]],
  },
  {
    name: "unified: 40085 taken for refused credentials",
    file: "src/exchange/answer.ts",
    changes: [['"40085": otherMode(', '"40085": credentials(']],
  },
  {
    name: "unified: 40084 taken for a request that is refused",
    file: "src/exchange/answer.ts",
    changes: [['"40084": notUnified,', '"40084": request,']],
  },
  {
    name: "unified: ledgers closed a day late",
    file: "src/sync/account-mode.ts",
    changes: [
      [
        "await held.store.closeLedgersOfOtherMode(mode, exchangeNow());",
        "await held.store.closeLedgersOfOtherMode(mode, (exchangeNow() + 86_400_000) as never);",
      ],
    ],
  },
  {
    name: "unified: ledgers closed only by the run after the first in the new mode",
    file: "src/sync/account-mode.ts",
    changes: [
      [
        "if (isKnown || !isTold) return [];",
        "if (isKnown || !isTold || ledgers.every((ledger) => ledger.isUnread)) return [];",
      ],
    ],
  },
  {
    name: "unified: what was not read of a ledger that is closed not told",
    file: "src/sync/account-mode.ts",
    changes: [["knownTime(ledger), closedAt) };", "knownTime(ledger), closedAt), unread: [] };"]],
  },
  {
    name: "unified: a closed ledger's time told up to the newest that was planned",
    file: "src/sync/account-mode.ts",
    changes: [
      [
        "...readTime(await held.store.knownTime(ledger), closedAt) };",
        "through: undefined, unread: (await held.store.knownTime(ledger)).open.map((walk) => walk.window) };",
      ],
    ],
  },
  {
    name: "unified: the cursor four seconds too low",
    file: "src/contract/bills-api.ts",
    changes: [
      ["{ cursor: idLessThan }", "{ cursor: String(BigInt(idLessThan) - (4_000n << 22n)) }"],
    ],
  },
  {
    name: "unified: an answer without a byte taken for an empty page",
    file: "src/exchange/answer.ts",
    changes: [
      [
        "    return envelope.safeParse(parseExactJson(body)).data;",
        '    if (body === "") return { code: "00000", data: { list: null } };\n    return envelope.safeParse(parseExactJson(body)).data;',
      ],
    ],
  },
];
