import { createHash } from "node:crypto";
import { decimalText } from "../../lib/decimal.ts";
import { ReportableError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import { type EpochMs, isoTime } from "../../lib/time.ts";
import type { BillPages, Chunks, ExportedBill, FormatOptions } from "./exported-bill.ts";
import { Journal, type JournalEntry, type Posting } from "./journal.ts";
import { dayIn } from "./time-zone.ts";

/** How a journal of one tool is written. */
export type Dialect = {
  readonly tool: string;
  readonly heading: string;
  /** How an account, whose parts are joined, and a coin are spelled. */
  readonly spellAccount: (name: string) => string;
  readonly spellCoin: (coin: string) => string;
  /** The declarations of a commodity, and of an account. */
  readonly declareCoin: (spelled: string, coin: string) => string;
  readonly declareAccount: (spelled: string) => string;
  readonly indent: string;
  /** The assertion of a day's closing balance. */
  readonly balance: (day: string, account: string, balance: string, coin: string) => string;
  /** The lines of an entry before its postings, but for its day. `tags` are names and values. */
  readonly head: (title: Title, tags: readonly (readonly [string, string])[]) => string;
  /** @throws ReportableError for an amount that the tool would not read exactly, with the name of its entry. */
  readonly refuseInexact: (entry: string, posting: Posting) => void;
};

/** The subject of an entry: a bill, or the kind of an adjustment and its reason. */
type Title = ExportedBill | { readonly kind: string; readonly why: string };

function openPrinter(dialect: Dialect, zone: string): (entry: JournalEntry) => string {
  const { tool, indent } = dialect;
  // Where a day is another zone's, with the date that the moment has in UTC.
  const timeIn = (time: EpochMs) => (zone === "UTC" ? isoTime(time).slice(11) : isoTime(time));
  const accountName = namesBy(dialect.spellAccount, { tool, what: "account" });
  const coinName = namesBy(dialect.spellCoin, { tool, what: "commodity" });
  const declared = new Set<string>();
  const once = (declaration: string): string => {
    if (declared.has(declaration)) return "";
    declared.add(declaration);
    return declaration;
  };
  const accountOf = ({ account }: Pick<Posting, "account">) => accountName(joinParts(account));
  const declarations = (posting: Posting) =>
    once(dialect.declareCoin(coinName(posting.coin), posting.coin)) +
    once(dialect.declareAccount(accountOf(posting)));
  const postingLine = (posting: Posting) =>
    `${indent}${accountOf(posting)}  ${decimalText(posting.amount)} ${coinName(posting.coin)}\n`;
  return (entry) => {
    const { day, kind } = entry;
    if (kind === "balance") {
      const balance = decimalText(entry.balance);
      return dialect.balance(day, accountOf(entry), balance, coinName(entry.coin));
    }
    const { postings } = entry;
    const name =
      kind === "bill"
        ? `bill ${entry.bill.account}/${entry.bill.productType} ${entry.bill.billId}`
        : `${kind} ${postings[0]?.account.join(":")}`;
    for (const posting of postings) dialect.refuseInexact(printableLine(name), posting);
    const tags: readonly (readonly [string, string])[] =
      kind === "bill"
        ? tagsOf(entry.bill, timeIn(entry.bill.cTime))
        : [
            ["time", timeIn(entry.at)],
            ["category", kind],
          ];
    const head = dialect.head(kind === "bill" ? entry.bill : entry, tags);
    return `${postings.map(declarations).join("")}\n${day} * ${head}${postings.map(postingLine).join("")}`;
  };
}

/** Writes a journal in a dialect. Every account and commodity is declared before its first use. */
export async function* writeJournal(
  pages: BillPages,
  options: FormatOptions,
  dialect: Dialect,
): Chunks {
  const { zone = "UTC", before, walletEnds = [], openings = [], startDay = "" } = options;
  const dayOf = dayIn(zone);
  const print = openPrinter(dialect, zone);
  const journal = new Journal(dayOf, walletEnds);
  const text = (entries: readonly JournalEntry[]) => entries.map(print).join("");
  const begin = (isOf: (day: string) => boolean) =>
    text(journal.open(openings.filter(({ at }) => isOf(dayOf(at)))));
  if (before !== undefined) {
    begin((day) => day < startDay);
    // These bills are booked and not printed, since earlier journals have them. So no account is declared twice.
    for await (const bills of before) {
      text(journal.book(bills));
      yield "";
    }
    text(journal.end());
  }
  yield dialect.heading + begin((day) => day >= startDay);
  for await (const bills of pages) yield text(journal.book(bills));
  yield text([...journal.end(), ...journal.close()]);
}

const tagsOf = (
  { billId, category, symbol, feeByCoupon, amount }: ExportedBill,
  time: string,
): readonly (readonly [string, string])[] => [
  ["bill_id", billId],
  ["time", time],
  ["category", category],
  ...(symbol === null ? [] : [["symbol", symbol] as const]),
  ...(feeByCoupon === null ? [] : [["fee_by_coupon", feeByCoupon] as const]),
  ...(category === "margin" ? [["margin_moved", amount] as const] : []),
];

/**
 * Spells names as a journal allows them, and remembers each. Two names that would be spelled alike are
 * refused, since their sums would be merged.
 */
function namesBy(
  spell: (name: string) => string,
  { tool, what }: { readonly tool: string; readonly what: string },
): (name: string) => string {
  const spelled = new Map<string, string>();
  const taken = new Map<string, string>();
  return (name) => {
    const spelling = spelled.get(name);
    if (spelling !== undefined) return spelling;
    const made = spell(name);
    const other = taken.get(made);
    if (other !== undefined) {
      throw new ReportableError(
        `"${shown(other)}" and "${shown(name)}" are both ${made} as ${what} of ${tool}; export them apart, ` +
          "by --account or --product, or in another format",
      );
    }
    spelled.set(name, made);
    taken.set(made, name);
    return made;
  };
}

// No text in Postgres can hold this character.
const separator = "\0";

/** A name of several parts as one text, to be made by {@link spellParts}. */
export const joinParts = (parts: readonly string[]): string => parts.join(separator);

export const spellParts = (
  name: string,
  spell: (part: string, place: number, parts: readonly string[]) => string,
): string => name.split(separator).map(spell).join(":");

const shown = (name: string): string => printableLine(name.replaceAll(separator, ":"));

/** Six hexadecimal digits that tell apart names that are spelled alike. */
export const fingerprint = (name: string): string =>
  createHash("sha256").update(name).digest("hex").slice(0, 6).toUpperCase();

/** Whether a name could be taken for another one with its {@link fingerprint}. */
export const endsLikeFingerprint = (name: string): boolean => /[-_][0-9A-F]{6}$/.test(name);
