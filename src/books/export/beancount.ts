import { add, type Decimal, decimalText, hasAtMostDigits, zero } from "../../lib/decimal.ts";
import { ReportableError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import { dayMs, epochMs, isoTime } from "../../lib/time.ts";
import type { Format } from "./exported-bill.ts";
import type { Posting } from "./journal.ts";
import {
  type Dialect,
  endsLikeFingerprint,
  fingerprint,
  joinParts,
  spellParts,
  writeJournal,
} from "./journal-text.ts";

// All accounts open on this day: ledgers are written one after another, and may share an account.
const openedOn = "1970-01-01";

/** A journal that `bean-check` accepts. Every balance is asserted with no tolerance at all. */
export const toBeancount: Format = (pages, options = {}) =>
  writeJournal(pages, options, beancount(options.before === undefined));

/** @param isFirst whether it continues no other journal, which has the title. */
const beancount = (isFirst: boolean): Dialect => ({
  tool: "beancount",
  heading: `; an exchange's bills: export --format beancount\n${isFirst ? 'option "title" "bill-sync"\n' : ""}`,
  spellAccount,
  spellCoin: commodityName,
  declareCoin: (spelled, coin) => `\n${openedOn} commodity ${spelled}\n  name: ${quoted(coin)}\n`,
  declareAccount: (spelled) => `\n${openedOn} open ${spelled}\n`,
  indent: "  ",
  balance: (day, account, balance, coin) =>
    `\n${dayAfter(day)} balance ${account}  ${balance} ~ 0 ${coin}\n`,
  head(title, tags) {
    const [payee, narration] =
      "why" in title ? [title.kind, title.why] : [title.businessType, title.symbol ?? ""];
    const metadata = tags.map(([name, value]) => `  ${name}: ${quoted(value)}\n`).join("");
    return `${quoted(payee)} ${quoted(narration)}\n${metadata}`;
  },
  refuseInexact: openSums(),
});

// Beancount computes with Python's decimals, at their default of 28 digits. It has no option for more.
const digitsMax = 28;

/** Adds up the wallets as beancount will, and refuses sums that it would round. */
function openSums(): (entry: string, posting: Posting) => void {
  const sums = new Map<string, Decimal>();
  return (entry, { account: parts, amount }) => {
    const isWallet = parts[0] === "Assets";
    const key = joinParts(parts);
    const sum = isWallet ? add(sums.get(key) ?? zero, amount) : amount;
    if (isWallet) sums.set(key, sum);
    const long = [amount, sum].find((decimal) => !hasAtMostDigits(decimal, digitsMax));
    if (long === undefined) return;
    throw new ReportableError(
      `${entry} leads to ${printableLine(decimalText(long))}, and beancount ` +
        `computes with ${digitsMax} digits; use another format, or leave the bill out by --from and --to`,
    );
  };
}

/** Beancount checks an assertion at the beginning of its day, so a day's closing balance is dated the next day. */
const dayAfter = (day: string): string => isoTime(epochMs(Date.parse(day) + dayMs)).slice(0, 10);

const spellAccount = (name: string): string =>
  spellParts(name, (part, place, parts) => {
    const safe = accountPart(part);
    // The last part of a wallet is a coin, and a ledger may have stETH beside STETH.
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
