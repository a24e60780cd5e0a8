import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../../core/postgres/connect.ts";
import { textArray, timeText } from "../../core/postgres/values.ts";
import { ledgerTimes, readExchangeTime } from "../../core/store/known-time.ts";
import { compareBalances, comparedBalances } from "../../core/store/wallet-balances.ts";
import { transfersOf } from "../../core/views/views.ts";
import type { BreakKind, FoundBreak } from "./breaks.ts";

// The exchange rounds converted amounts to eight decimal places.
const lastPlace = sql.raw("0.00000001");

type Columns = Partial<FoundBreak> & Pick<FoundBreak, "anchor">;

/** Runs a statement that finds breaks of one kind, of which one sentence is true; columns that it leaves out are null. */
async function findBreaks(
  tx: Transaction,
  kind: BreakKind,
  explain: (row: Columns) => string,
  statement: SQL,
): Promise<readonly FoundBreak[]> {
  const { rows } = await tx.execute<Columns>(statement);
  return rows.map((row) => ({ ledger: "", coin: "", ...row, kind, explanation: explain(row) }));
}

/** The types of transfer whose other leg is in another product type of the account. */
const betweenProducts: readonly string[] = ["trans_to_contract", "trans_from_contract"];

/** Whether bills of these types may be legs of transfers. Legs are compared only then. */
export const areLegsAmong = (businessTypes: readonly string[]): boolean =>
  businessTypes.some((type) => betweenProducts.includes(type));

/** Transfers between two product types of an account whose legs are of different amounts. */
export function findTransferBreaks(
  tx: Transaction,
  account: string,
): Promise<readonly FoundBreak[]> {
  return findBreaks(
    tx,
    "transfer",
    ({ firstBadBill, firstBadProductType }) =>
      `bill ${firstBadBill} of ${firstBadProductType} looks like its other leg, with another amount`,
    sql`
    with legs as (
      select account, product_type, coin, bill_id, c_time, amount
      from (${transfersOf(account)}) as transfers
      where state = 'unpaired'
        and business_type = any(${textArray(betweenProducts)}::text[])
    )
    select distinct on (sent.product_type, sent.bill_id)
      sent.product_type as ledger,
      sent.coin,
      sent.bill_id as anchor,
      ${timeText(sql`sent.c_time`)} as "happenedAt",
      (-sent.amount)::text as expected,
      received.amount::text as observed,
      (received.amount + sent.amount)::text as difference,
      received.bill_id as "firstBadBill",
      received.product_type as "firstBadProductType",
      sent.bill_id as "lastGoodBill"
    from legs as sent
    join legs as received
      on received.account = sent.account
      and received.coin = sent.coin
      and received.product_type <> sent.product_type
      and received.amount > 0
      -- Legs of equal amounts are no break. They are left over where two equal transfers are a second apart,
      -- since the inner two legs are then paired with each other.
      and received.amount <> -sent.amount
      and received.c_time between sent.c_time - interval '1 second' and sent.c_time + interval '10 seconds'
    where sent.amount < 0
    order by sent.product_type, sent.bill_id, received.c_time`,
  );
}

/** A record, and which of its figures, as a break's anchor. */
const figureOf = (figure: SQL): SQL =>
  sql`concat_ws('/', nullif(risk_unit_id, ''), ${timeText(sql`first_seen_at`)}) || ' ' || ${figure}`;

const snapshotBreaks = (account: string, figure: SQL, columns: SQL, isBroken: SQL): SQL => sql`
    select
      ${figureOf(figure)} as anchor,
      ${timeText(sql`first_seen_at`)} as "happenedAt",
      ${columns}
    from ltv_snapshots
    left join (
      select account, risk_unit_id, first_seen_at, sum(converted_usdt_amount) as converted, count(*) as coins
      from ltv_collateral
      where account = ${account}
      group by account, risk_unit_id, first_seen_at
    ) as parts using (account, risk_unit_id, first_seen_at)
    where account = ${account}
      and ${isBroken}
    order by risk_unit_id, first_seen_at`;

/** Loan-to-value records whose own figures contradict each other. */
export async function findLoanToValueBreaks(
  tx: Transaction,
  account: string,
): Promise<readonly FoundBreak[]> {
  const assets = snapshotBreaks(
    account,
    sql`'assets'`,
    sql`
      converted::text as expected,
      usdt_balance::text as observed,
      (usdt_balance - converted)::text as difference`,
    sql`abs(usdt_balance - converted) > coins * ${lastPlace}`,
  );
  const ratio = snapshotBreaks(
    account,
    sql`'ratio'`,
    sql`
      round(unpaid_usdt_amount / usdt_balance, scale(ltv) + 2)::text as expected,
      ltv::text as observed,
      (ltv - round(unpaid_usdt_amount / usdt_balance, scale(ltv) + 2))::text as difference`,
    sql`usdt_balance <> 0
      and abs(ltv - unpaid_usdt_amount / usdt_balance) > 0.5 * 10::numeric ^ -scale(ltv)`,
  );
  const haircut = sql`
    select
      ${figureOf(sql`coin`)} as anchor,
      ${timeText(sql`first_seen_at`)} as "happenedAt",
      (price * amount)::text as expected,
      converted_usdt_amount::text as observed,
      (converted_usdt_amount - price * amount)::text as difference
    from ltv_collateral
    where account = ${account}
      -- What is owed of a coin counts in full, or for more.
      and (
        coalesce(amount, 0) >= 0 and converted_usdt_amount < 0
        or converted_usdt_amount > price * amount + ${lastPlace}
      )
    order by risk_unit_id, first_seen_at, coin`;
  const find = (explanation: string, statement: SQL) =>
    findBreaks(tx, "ltv", () => explanation, statement);
  return [
    ...(await find("usdtBalance is not the sum of convertedUsdtAmount", assets)),
    ...(await find(
      "ltv is not unpaidUsdtAmount / usdtBalance, to half a unit of its last place",
      ratio,
    )),
    ...(await find("a coin's convertedUsdtAmount is below 0 or above price x amount", haircut)),
  ];
}

/**
 * Restatements since the last acceptance: more exactly, since the check whose count was accepted, because whoever
 * accepted it has not seen what came after that check.
 */
export const findRestatements = (
  tx: Transaction,
  account: string,
): Promise<readonly FoundBreak[]> =>
  findBreaks(
    tx,
    "restated",
    () => "bill_revisions has what they said before",
    sql`
    select
      revised.product_type as ledger,
      'since ' || coalesce(${timeText(sql`seen_at`)}, 'the beginning') as anchor,
      ${timeText(sql`min(replaced_at)`)} as "happenedAt",
      '0' as expected,
      count(*)::text as observed,
      count(*)::text as difference
    from bill_revisions as revised
    left join (
      select account, ledger, max(last_seen_at) as seen_at
      from ledger_breaks
      where account = ${account}
        and kind = 'restated'
        and accepted_at is not null
      group by account, ledger
    ) as signed
      on signed.account = revised.account
      and signed.ledger = revised.product_type
    where revised.account = ${account}
      and (seen_at is null or replaced_at > seen_at)
    group by revised.product_type, seen_at
    order by 1`,
  );

/**
 * Wallets whose balance now differs from their bills: their newest bills may be missing, and no later balance shows it.
 * Where the balance may be of another kind than its bills', a difference is no break: see src/check/health/balances.ts.
 */
export async function findBalanceBreaks(
  tx: Transaction,
  account: string,
  reconciled: Parameters<typeof compareBalances>[2],
): Promise<readonly FoundBreak[]> {
  await compareBalances(tx, account, reconciled);
  return findBreaks(
    tx,
    "balance",
    ({ observed, expected }) =>
      `the exchange says that the wallet holds ${observed}, and the newest bill ${expected}: either its newest bills ` +
      "are missing, or a type of bill moves it in another way than is known",
    sql`
    select
      wallet as ledger,
      coin,
      'now' as anchor,
      ${timeText(sql`last_seen_at`)} as "happenedAt",
      expected::text as expected,
      balance::text as observed,
      (balance - expected)::text as difference
    from ${comparedBalances([account])}
    where differs
      and not may_differ
    order by wallet, coin`,
  );
}

/** Time that is lost, or unread in a ledger that ended, and that nobody has accepted. */
export async function findLostTime(
  tx: Transaction,
  account: string,
): Promise<readonly FoundBreak[]> {
  const now = await readExchangeTime(tx, [account]);
  return findBreaks(
    tx,
    "lost",
    () => "it was not read before the exchange deleted its bills, or the account changed its mode",
    sql`
    select
      ledger,
      ${timeText(sql`lower(span)`)} as anchor,
      ${timeText(sql`lower(span)`)} as "happenedAt",
      (extract(epoch from upper(span) - lower(span)) * 1000)::bigint::text as difference
    from (
      select
        ledger,
        unnest(lost + case when state = 'ended' then unread else '{}'::tstzmultirange end) as span
      from ${ledgerTimes({ accounts: [account], now })}
    ) as spans
    order by ledger, span`,
  );
}
