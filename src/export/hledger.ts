import { ReportableError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import { decimalText } from "./decimal.ts";
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

const heading = `; an exchange's bills: export --format hledger
decimal-mark .
`;

/** A journal that `hledger check --strict` accepts: every account and commodity is declared. */
export async function* toHledger(pages: BillPages, options: FormatOptions = {}): Chunks {
  yield heading;
  yield* printJournal(pages, options, openPrinter(timeIn(options.zone)));
}

function openPrinter(timeOf: TimeOf): (entry: JournalEntry) => string {
  const accountName = namesBy(spellAccount, { tool: "hledger", what: "account" });
  const commodity = namesBy(commodityName, { tool: "hledger", what: "commodity" });
  const declared = new Set<string>();
  const declare = (line: string): string => {
    if (declared.has(line)) return "";
    declared.add(line);
    return `\n${line}\n`;
  };
  const accountOf = ({ account }: Pick<Posting, "account">) => accountName(joinParts(account));
  const declarations = (posting: Pick<Posting, "account" | "coin">) =>
    declare(`commodity ${commodity(posting.coin)}`) + declare(`account ${accountOf(posting)}`);
  const postingLine = (posting: Posting) =>
    `    ${accountOf(posting)}  ${decimalText(posting.amount)} ${commodity(posting.coin)}\n`;
  return (entry) => {
    if (entry.kind === "balance") {
      const { day, coin, balance } = entry;
      const amount = `0 ${commodity(coin)} = ${decimalText(balance)} ${commodity(coin)}`;
      return `\n${day} * balance at the end of the day\n    ${accountOf(entry)}  ${amount}\n`;
    }
    const { bill, postings, day } = entry;
    for (const posting of postings) refuseLong(bill, posting);
    const head = headOf(entry, timeOf);
    return `${postings.map(declarations).join("")}\n${day} * ${head}${postings.map(postingLine).join("")}`;
  };
}

// The most decimal places that hledger reads.
const placesMax = 255;

function refuseLong({ account, productType, billId }: ExportedBill, { amount }: Posting): void {
  if (amount.scale <= placesMax) return;
  throw new ReportableError(
    `bill ${account}/${productType} ${printableLine(billId)} has ${amount.scale} decimal places, and hledger ` +
      `reads ${placesMax}; use another format, or leave the bill out by --from and --to`,
  );
}

function headOf(entry: Exclude<JournalEntry, { kind: "balance" }>, timeOf: TimeOf): string {
  const { kind, bill } = entry;
  if (kind === "bill") return billHead(bill, timeOf(bill.cTime));
  if (kind === "closing")
    return `${closingText}\n    ; time:${timeOf(entry.at)}, category:closing\n`;
  return adjustmentHead(bill, kind, timeOf(bill.cTime));
}

function billHead(bill: ExportedBill, time: string): string {
  const { billId, businessType, symbol, category, feeByCoupon, amount } = bill;
  const description = symbol === null ? businessType : `${businessType} ${symbol}`;
  const tags = [
    `time:${time}`,
    `category:${category}`,
    ...(symbol === null ? [] : [`symbol:${plain(symbol)}`]),
    ...(feeByCoupon === null ? [] : [`fee_by_coupon:${feeByCoupon}`]),
    ...(category === "margin" ? [`margin_moved:${amount}`] : []),
  ];
  return `(${code(billId)}) ${plain(description)}\n    ; ${tags.join(", ")}\n`;
}

const adjustmentHead = (bill: ExportedBill, kind: Adjustment, time: string): string =>
  `${kind}, as the balance of bill ${plain(bill.billId)} shows\n    ; time:${time}, category:${kind}\n`;

const spellAccount = (name: string): string => spellParts(name, accountPart);

/** Text without characters that begin a comment, end a line or separate tags. */
const plain = (text: string): string => text.replace(/[;,|\p{C}\p{Z}]+/gu, " ").trim();
const code = (text: string): string => plain(text).replaceAll(/[()]/g, "_");

/** A part of an account's name: a colon would begin a sub-account, two spaces the amount, brackets a virtual posting. */
function accountPart(name: string): string {
  const safe = name.replace(/[:;()[\]"*!|\p{C}\p{Z}]/gu, "_");
  return safe === name && !endsLikeFingerprint(name) ? name : `${safe}_${fingerprint(name)}`;
}

/** A coin's name, quoted where it holds anything but letters: "1INCH". */
function commodityName(coin: string): string {
  if (/^[A-Za-z]+$/.test(coin)) return coin;
  const safe = coin.replace(/[";\p{C}\p{Z}]/gu, "_");
  const isKept = safe === coin && !endsLikeFingerprint(coin);
  return `"${isKept ? coin : `${safe}_${fingerprint(coin)}`}"`;
}
