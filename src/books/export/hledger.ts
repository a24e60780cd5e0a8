import { ReportableError } from "../../lib/errors.ts";
import type { Format } from "./exported-bill.ts";
import type { Posting } from "./journal.ts";
import {
  type Dialect,
  endsLikeFingerprint,
  fingerprint,
  spellParts,
  writeJournal,
} from "./journal-text.ts";

/** A journal that `hledger check --strict` accepts: every account and commodity is declared. */
export const toHledger: Format = (pages, options = {}) => writeJournal(pages, options, hledger);

// The most decimal places that hledger reads.
const placesMax = 255;

function refuseLong(entry: string, { amount }: Posting): void {
  if (amount.scale <= placesMax) return;
  throw new ReportableError(
    `${entry} has ${amount.scale} decimal places, and hledger ` +
      `reads ${placesMax}; use another format, or leave the bill out by --from and --to`,
  );
}

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

const hledger: Dialect = {
  tool: "hledger",
  heading: "; an exchange's bills: export --format hledger\ndecimal-mark .\n",
  spellAccount: (name) => spellParts(name, accountPart),
  spellCoin: commodityName,
  declareCoin: (spelled) => `\ncommodity ${spelled}\n`,
  declareAccount: (spelled) => `\naccount ${spelled}\n`,
  indent: "    ",
  balance: (day, account, balance, coin) =>
    `\n${day} * balance at the end of the day\n    ${account}  0 ${coin} = ${balance} ${coin}\n`,
  head(title, tags) {
    const shown = tags.filter(([name]) => name !== "bill_id");
    const text = shown.map(([name, value]) => `${name}:${plain(value)}`).join(", ");
    if ("why" in title) {
      const { kind, why } = title;
      return `${kind === "closing" ? why : `${kind}, ${plain(why)}`}\n    ; ${text}\n`;
    }
    const { billId, businessType, symbol } = title;
    const description = symbol === null ? businessType : `${businessType} ${symbol}`;
    return `(${code(billId)}) ${plain(description)}\n    ; ${text}\n`;
  },
  refuseInexact: refuseLong,
};
