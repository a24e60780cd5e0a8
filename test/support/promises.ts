import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** What the program promises. A test file that holds one begins with `// Holds: NAME, NAME`. */
const promises: Readonly<Record<string, string>> = {
  Tiling:
    "The windows of a run are exactly the wanted time less coverage: no hole, no overlap, none longer than the exchange allows; each is requested 1 ms wider",
  "Atomic pages":
    "The bills, rejected rows, cursor and counters of a page are committed together or not at all",
  "Honest coverage":
    "Coverage never includes time that was not read to its end, whatever is wrong with the machine's clock or the exchange's",
  "One row a bill": "Unchanged rows are not rewritten; a restatement keeps what it replaced",
  "Nothing dropped":
    "Every row that the exchange served is in `bills` or in `rejected_bills`; a broken row never stops the good ones",
  "Nothing shown is dropped":
    "A row that any answer showed, in time that is called complete, is stored or rejected, or the run says which is not",
  "Within the limit":
    "In any rolling second no more requests arrive than the exchange allows: in retries and with several processes, too",
  Exact: "A decimal is read back as it was stored; no amount and no id is ever a number",
  "No false success": "A run that did not finish exits non-zero and names what is missing",
  "Quiet secrets": "No log, error, row or report contains a key, secret, passphrase or signature",
  "Twice is once": "A second run over unchanged data changes no row but the run log",
  "Stored days": "Stored days agree with the bills at every commit, and so do views",
  Bounded: "Every loop, retry, wait and body has a limit",
  "One account one ledger": "A key of another account writes nothing under a known name",
  "Whose key": "The exchange's user id decides which account a key belongs to",
  "No answer over a hole":
    "What is served of stored time (mirror, page, export, report) says where it was not read, or refuses",
  "One definition":
    "A figure that two outputs show comes from one place; whether a ledger can be trusted is judged in one",
  "Recovered is not complete":
    "What comes from tax records is marked, and proven by comparison before it is merged",
};

/** Each promise with the test files that name it. */
export function promisesTable(): string {
  const holders = globSync("test/*.test.ts").toSorted().flatMap(promisesOf);
  const unheard = holders.filter(({ promise }) => promises[promise] === undefined);
  if (unheard.length > 0) throw new Error(`there is no promise ${unheard[0]?.promise}`);
  const rows = Object.entries(promises).map(([promise, sentence]) => {
    const files = holders.filter((holder) => holder.promise === promise);
    if (files.length === 0) throw new Error(`no test holds the promise ${promise}`);
    const names = files.map(({ path }) => `\`${basename(path)}\``);
    return `| **${promise}.** ${sentence} | ${names.join(" · ")} |`;
  });
  return ["| promise | held by |", "|---|---|", ...rows].join("\n");
}

function promisesOf(path: string): readonly { readonly path: string; readonly promise: string }[] {
  const [, names] = /^\/\/ Holds: (.*)$/m.exec(readFileSync(path, "utf8")) ?? [];
  return names?.split(", ").map((promise) => ({ path, promise })) ?? [];
}
