import { dayMs, epochMs, isoTime } from "../contract/time.ts";
import { ReportableError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import { add, type Decimal, decimalText, hasAtMostDigits, zero } from "./decimal.ts";
import type { BillPages, Chunks, ExportedBill, FormatOptions } from "./exported-bill.ts";
import {
  type Adjustment,
  closingText,
  type JournalEntry,
  type Posting,
  printJournal,
  type TimeOf,
  timeIn,
} from "./journal.ts";
import { endsLikeFingerprint, fingerprint, joinParts, namesBy, spellParts } from "./names.ts";

const heading = `; an exchange's bills: export --format beancount
`;
const title = `option "title" "bill-sync"
`;

// All accounts open on this day: ledgers are written one after another, and may share an account.
const openedOn = "1970-01-01";

/** A journal that `bean-check` accepts. Every balance is asserted with no tolerance at all. */
export async function* toBeancount(pages: BillPages, options: FormatOptions = {}): Chunks {
  yield options.before === undefined ? heading + title : heading;
  yield* printJournal(pages, options, openPrinter(timeIn(options.zone)));
}

function openPrinter(timeOf: TimeOf): (entry: JournalEntry) => string {
  const accountName = namesBy(spellAccount, { tool: "beancount", what: "account" });
  const commodity = namesBy(commodityName, { tool: "beancount", what: "commodity" });
  const declared = new Set<string>();
  const refuseInexact = openSums();
  const declare = (line: string, details = ""): string => {
    if (declared.has(line)) return "";
    declared.add(line);
    return `\n${openedOn} ${line}\n${details}`;
  };
  const accountOf = ({ account }: Pick<Posting, "account">) => accountName(joinParts(account));
  const declarations = (posting: Posting) =>
    declare(`commodity ${commodity(posting.coin)}`, `  name: ${quoted(posting.coin)}\n`) +
    declare(`open ${accountOf(posting)}`);
  const postingLine = (posting: Posting) =>
    `  ${accountOf(posting)}  ${decimalText(posting.amount)} ${commodity(posting.coin)}\n`;
  return (entry) => {
    if (entry.kind === "balance") {
      const { day, coin, balance } = entry;
      return `\n${dayAfter(day)} balance ${accountOf(entry)}  ${decimalText(balance)} ~ 0 ${commodity(coin)}\n`;
    }
    const { bill, postings, day } = entry;
    for (const posting of postings) refuseInexact(bill, posting);
    const head = headOf(entry, timeOf);
    return `${postings.map(declarations).join("")}\n${day} * ${head}${postings.map(postingLine).join("")}`;
  };
}

// Beancount computes with Python's decimals, at their default of 28 digits. It has no option for more.
const digitsMax = 28;

/** Adds up the wallets as beancount will, and refuses sums that it would round. */
function openSums(): (bill: ExportedBill, posting: Posting) => void {
  const sums = new Map<string, Decimal>();
  return ({ account, productType, billId }, { account: parts, amount }) => {
    const isWallet = parts[0] === "Assets";
    const key = joinParts(parts);
    const sum = isWallet ? add(sums.get(key) ?? zero, amount) : amount;
    if (isWallet) sums.set(key, sum);
    const long = [amount, sum].find((decimal) => !hasAtMostDigits(decimal, digitsMax));
    if (long === undefined) return;
    throw new ReportableError(
      `bill ${account}/${productType} ${printableLine(billId)} leads to ${printableLine(decimalText(long))}, and beancount ` +
        `computes with ${digitsMax} digits; use another format, or leave the bill out by --from and --to`,
    );
  };
}

/** Beancount checks an assertion at the beginning of its day, so a day's closing balance is dated the next day. */
const dayAfter = (day: string): string => isoTime(epochMs(Date.parse(day) + dayMs)).slice(0, 10);

function headOf(entry: Exclude<JournalEntry, { kind: "balance" }>, timeOf: TimeOf): string {
  const { kind, bill } = entry;
  if (kind === "bill") return billHead(bill, timeOf(bill.cTime));
  if (kind === "closing") {
    const metadata = [
      ["time", timeOf(entry.at)],
      ["category", kind],
    ];
    return `${quoted(kind)} ${quoted(closingText)}\n${metadataLines(metadata)}`;
  }
  return adjustmentHead(bill, kind, timeOf(bill.cTime));
}

function billHead(bill: ExportedBill, time: string): string {
  const { billId, businessType, symbol, category, feeByCoupon, amount } = bill;
  const metadata = [
    ["bill_id", billId],
    ["time", time],
    ["category", category],
    ...(symbol === null ? [] : [["symbol", symbol]]),
    ...(feeByCoupon === null ? [] : [["fee_by_coupon", feeByCoupon]]),
    ...(category === "margin" ? [["margin_moved", amount]] : []),
  ];
  return `${quoted(businessType)} ${quoted(symbol ?? "")}\n${metadataLines(metadata)}`;
}

const adjustmentHead = (bill: ExportedBill, kind: Adjustment, time: string): string =>
  `${quoted(kind)} ${quoted(`as the balance of bill ${bill.billId} shows`)}\n${metadataLines([
    ["time", time],
    ["category", kind],
  ])}`;

const metadataLines = (metadata: readonly (readonly string[])[]): string =>
  metadata.map(([key, value = ""]) => `  ${key}: ${quoted(value)}\n`).join("");

const spellAccount = (name: string): string =>
  spellParts(name, (part, place, parts) => {
    const safe = accountPart(part);
    // The last part of a wallet is a coin, and a stream may have stETH beside STETH.
    const isCoin = parts[0] === "Assets" && place === parts.length - 1;
    const isTold = isCoin ? safe === part && !endsLikeFingerprint(part) : /^[\w.-]+$/.test(part);
    return isTold ? safe : `${safe}-${fingerprint(part)}`;
  });

const quoted = (text: string): string =>
  `"${text.replace(/\p{C}/gu, " ").replace(/["\\]/g, "\\$&")}"`;

/** A part of an account's name: begins with a capital or a digit; letters, digits and hyphens follow. */
function accountPart(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9-]/g, "-").replace(/^-/, "X-");
  return safe.charAt(0).toUpperCase() + safe.slice(1);
}

// What beancount 2 reads as a commodity. Longer names, single letters and three reserved words are none.
const commodityPattern = /^[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]$/;
const itsOwnWords = ["TRUE", "FALSE", "NULL"];
const prefix = "COIN.";
const lengthKept = 10;

/**
 * A coin's name where beancount can read it, else `COIN.` and the readable part of the name: 1INCH is
 * COIN.1INCH. Six digits of the name's SHA-256 follow where something was lost: stETH is
 * COIN.STETH.0F8699. The `commodity` directive has the original name.
 */
function commodityName(coin: string): string {
  const isItsOwn = itsOwnWords.includes(coin) || coin.startsWith(prefix);
  if (commodityPattern.test(coin) && !isItsOwn) return coin;
  const readable = coin
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "")
    .slice(0, lengthKept);
  const parts = readable === coin ? [coin] : [readable, fingerprint(coin)];
  return prefix + parts.filter((part) => part !== "").join(".");
}
