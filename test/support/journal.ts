import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Sums by account and commodity, in units of 1e-30, so that no tool's rounding applies. */
export type Sums = ReadonlyMap<string, bigint>;

/** The decimal places of these units. */
export const places = 30;

/** @param text digits with at most one point. */
export function exactUnits(text: string): bigint {
  const [whole = "", part = ""] = text.split(".");
  if (!/^-?\d+$/.test(whole) || !/^\d*$/.test(part) || part.length > places)
    throw new Error(`"${text}" is no amount of a journal`);
  return BigInt(whole + part.padEnd(places, "0"));
}

type Directive =
  | { readonly kind: "declare"; readonly what: string }
  | {
      readonly kind: "transaction";
      readonly day: string;
      readonly line: number;
      readonly postings: Posting[];
    }
  | {
      readonly kind: "balance";
      readonly day: string;
      readonly line: number;
      readonly account: string;
      readonly commodity: string;
      readonly units: bigint;
    };

type Posting = {
  readonly account: string;
  readonly commodity: string;
  readonly units: bigint;
  readonly asserted: bigint | undefined;
};

const number = String.raw`(-?\d+(?:\.\d+)?)`;
const hledgerPosting = new RegExp(
  String.raw`^ {4}(\S(?:.*?\S)?) {2}${number} ("[^"]+"|[A-Za-z]+)(?: = ${number} ("[^"]+"|[A-Za-z]+))?$`,
);
const beancountPosting = new RegExp(String.raw`^ {2}([A-Z][\w:-]*) {2}${number} ([A-Z][\w'.-]+)$`);
const beancountBalance = new RegExp(
  String.raw`^(\d{4}-\d\d-\d\d) balance ([A-Z][\w:-]*) {2}${number} ~ 0 ([A-Z][\w'.-]+)$`,
);

/**
 * Reads a journal by a small grammar of its own and does its arithmetic: every transaction
 * balances, every assertion holds exactly, and every name is declared. It knows nothing of the code
 * that wrote it.
 * @throws Error that names the line.
 */
export function verifiedSums(tool: keyof typeof grammars, text: string): Sums {
  const directives = directivesOf(tool, text);
  const declared = new Set(directives.flatMap((d) => (d.kind === "declare" ? [d.what] : [])));
  const sums = new Map<string, bigint>();
  const dated = directives.filter((directive) => directive.kind !== "declare");
  // The days in order. beancount asserts at the beginning of a day, hledger at the place of the
  // posting.
  for (const directive of dated.toSorted(byDay)) {
    if (directive.kind === "balance") {
      const { account, commodity, units, line } = directive;
      holds(sums, account, commodity, units, line);
    } else {
      post(sums, declared, directive.postings, directive.line);
    }
  }
  return sums;
}

function byDay(a: Exclude<Directive, { kind: "declare" }>, b: typeof a): number {
  if (a.day !== b.day) return a.day < b.day ? -1 : 1;
  return Number(b.kind === "balance") - Number(a.kind === "balance");
}

function holds(sums: Sums, account: string, commodity: string, units: bigint, line: number): void {
  const sum = sums.get(`${account} ${commodity}`) ?? 0n;
  if (sum !== units) throw new Error(`line ${line}: ${account} is ${sum}, asserted ${units}`);
}

function post(
  sums: Map<string, bigint>,
  declared: ReadonlySet<string>,
  postings: readonly Posting[],
  line: number,
): void {
  const left = new Map<string, bigint>();
  for (const { account, commodity, units, asserted } of postings) {
    for (const name of [account, commodity]) {
      if (!declared.has(name)) throw new Error(`line ${line}: ${name} is not declared`);
    }
    left.set(commodity, (left.get(commodity) ?? 0n) + units);
    const key = `${account} ${commodity}`;
    sums.set(key, (sums.get(key) ?? 0n) + units);
    if (asserted !== undefined) holds(sums, account, commodity, asserted, line);
  }
  for (const [commodity, units] of left) {
    if (units !== 0n) throw new Error(`line ${line}: ${units} ${commodity} are left over`);
  }
}

/** How the lines of each tool look: names, heads of transactions, postings, assertions, and what has no figures. */
const grammars = {
  hledger: {
    declaration: /^(?:account|commodity) (.+)$/,
    head: /^(\d{4}-\d\d-\d\d) \* \S/,
    posting: hledgerPosting,
    balance: /^(?!)/,
    other: /^(?:;| {4};|decimal-mark \.$|P [\d-]+ \S+ [\d.]+ [A-Z]+$|$)/,
  },
  beancount: {
    declaration: /^1970-01-01 (?:open|commodity) (\S+)$/,
    head: /^(\d{4}-\d\d-\d\d) \* "/,
    posting: beancountPosting,
    balance: beancountBalance,
    other: /^(?:;|option "| {2}[a-z_]+: "|$)/,
  },
};

function directivesOf(tool: keyof typeof grammars, text: string): readonly Directive[] {
  const grammar = grammars[tool];
  const directives: Directive[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const [, what] = grammar.declaration.exec(line) ?? [];
    const [, day] = grammar.head.exec(line) ?? [];
    const posting = grammar.posting.exec(line);
    const balance = grammar.balance.exec(line);
    if (what !== undefined) directives.push({ kind: "declare", what });
    else if (day !== undefined) {
      directives.push({ kind: "transaction", day, line: index + 1, postings: [] });
    } else if (posting !== null) addPosting(directives, posting);
    else if (balance !== null) {
      const [, on = "", account = "", amount = "", commodity = ""] = balance;
      const units = exactUnits(amount);
      directives.push({ kind: "balance", day: on, line: index + 1, account, commodity, units });
    } else if (!grammar.other.test(line))
      throw new Error(`line ${index + 1} is none of a journal's: ${line}`);
  }
  return directives;
}

function addPosting(directives: readonly Directive[], match: RegExpExecArray): void {
  const [, account = "", amount = "", commodity = "", asserted] = match;
  const last = directives.findLast(({ kind }) => kind === "transaction");
  if (last?.kind !== "transaction") throw new Error(`a posting of no transaction: ${match[0]}`);
  last.postings.push({
    account,
    commodity,
    units: exactUnits(amount),
    asserted: asserted === undefined ? undefined : exactUnits(asserted),
  });
}

/**
 * Runs a tool on files. Undefined if it is not installed, which is printed: only the arithmetic
 * above was checked then.
 */
function ran(command: string, args: readonly string[], files: Readonly<Record<string, string>>) {
  const cwd = mkdtempSync(join(tmpdir(), "bill-sync-journal-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    const env = { PATH: process.env["PATH"], LC_ALL: "C.UTF-8" };
    const { error, ...end } = spawnSync(command, args, { encoding: "utf8", env, cwd });
    if (error === undefined) return end;
    if (!("code" in error && error.code === "ENOENT")) throw error;
    const tool = command === "hledger" ? command : "beancount";
    process.stderr.write(
      `\n!! ${command} DID NOT RUN: it is not installed (apt-get install ${tool})\n`,
    );
    return undefined;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** What the tool itself prints: nothing if it accepts the journal, or is not installed. */
export function refusalOf(tool: keyof typeof grammars, text: string): string {
  const end =
    tool === "hledger"
      ? ran("hledger", ["-f", "a.journal", "check", "--strict"], { "a.journal": text })
      : ran("bean-check", ["a.beancount"], { "a.beancount": text });
  if (end === undefined || end.status === 0) return "";
  return `${end.stdout}${end.stderr}` || `${tool} ended with ${end.status}`;
}
