import { isoTime } from "../contract/time.ts";
import type { BillPages, Chunks, ExportedBill } from "./bill.ts";
import { decimalText } from "./decimal.ts";
import { type Adjustment, dayOf, type JournalEntry, journalOf, type Posting } from "./journal.ts";
import { fingerprint, namesBy } from "./names.ts";

const heading = `; the bills of an exchange's futures account, in UTC days: export --format hledger
decimal-mark .
`;

/** A journal that `hledger check --strict` accepts: every account and commodity is declared. */
export async function* toHledger(pages: BillPages): Chunks {
  yield heading;
  const printer = openPrinter();
  for await (const entries of journalOf(pages)) yield entries.map(printer).join("");
}

function openPrinter(): (entry: JournalEntry) => string {
  const accountName = namesBy(spellAccount, { tool: "hledger", what: "account" });
  const commodity = namesBy(commodityName, { tool: "hledger", what: "commodity" });
  const declared = new Set<string>();
  const declare = (line: string): string => {
    if (declared.has(line)) return "";
    declared.add(line);
    return `\n${line}\n`;
  };
  const accountOf = ({ account }: Pick<Posting, "account">) => accountName(account.join("\n"));
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
    const { bill, postings } = entry;
    const head = entry.kind === "bill" ? billHead(bill) : adjustmentHead(bill, entry.kind);
    return `${postings.map(declarations).join("")}\n${dayOf(bill)} * ${head}${postings.map(postingLine).join("")}`;
  };
}

function billHead(bill: ExportedBill): string {
  const { billId, businessType, symbol, category, feeByCoupon, amount } = bill;
  const description = symbol === null ? businessType : `${businessType} ${symbol}`;
  const tags = [
    `time:${timeOf(bill)}`,
    `category:${category}`,
    ...(symbol === null ? [] : [`symbol:${plain(symbol)}`]),
    ...(feeByCoupon === null ? [] : [`fee_by_coupon:${feeByCoupon}`]),
    ...(category === "margin" ? [`margin_moved:${amount}`] : []),
  ];
  return `(${code(billId)}) ${plain(description)}\n    ; ${tags.join(", ")}\n`;
}

const adjustmentHead = (bill: ExportedBill, kind: Adjustment): string =>
  `${kind}, as the balance of bill ${plain(bill.billId)} shows\n    ; time:${timeOf(bill)}, category:${kind}\n`;

/** @param name its parts, a line each. */
const spellAccount = (name: string): string => name.split("\n").map(accountPart).join(":");

const timeOf = ({ cTime }: ExportedBill): string => isoTime(cTime).slice(11);

/** Text that begins no comment, ends no line and separates no tag. */
const plain = (text: string): string => text.replace(/[;,|\p{C}\p{Z}]+/gu, " ").trim();
const code = (text: string): string => plain(text).replaceAll(/[()]/g, "_");

/** A colon would begin a sub-account, two spaces the amount, brackets a virtual posting. */
function accountPart(name: string): string {
  const safe = name.replace(/[:;()[\]"*!|\p{C}\p{Z}]/gu, "_");
  return safe === name ? name : `${safe}_${fingerprint(name)}`;
}

/** Quoted where it holds anything but letters: "1INCH". */
function commodityName(coin: string): string {
  if (/^[A-Za-z]+$/.test(coin)) return coin;
  const safe = coin.replace(/["; \p{C}]/gu, "_");
  return `"${safe === coin ? coin : `${safe}_${fingerprint(coin)}`}"`;
}
