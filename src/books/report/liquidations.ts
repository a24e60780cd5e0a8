import { sql } from "drizzle-orm";
import type { Transaction } from "../../core/postgres/connect.ts";
import { msOf, timeFrom } from "../../core/postgres/values.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { decimalOf } from "../../lib/decimal.ts";
import { type Columns, type Table, table } from "../../output/result.ts";
import { isBillOf, isWithin, type ReportedWallet } from "../export/reported-wallets.ts";
import { minuteIn } from "../export/time-zone.ts";
import type { LedgerClose, Liquidation, ReportOptions } from "./close-report.ts";
import { limited, money } from "./figures.ts";

/** The liquidations that began in the period, by time. A sweep by the insurance fund is part of one. */
export async function readLiquidations(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
): Promise<readonly Liquidation[]> {
  const { rows } = await tx.execute<
    Omit<Liquidation, "at" | "amount"> & Readonly<Record<"at" | "amount", string>>
  >(sql`
    select
      coin,
      coalesce(symbols, '{}') as symbols,
      (bills + sweeps)::int as bills,
      ${msOf(sql`started_at`)} as at,
      (amount + coalesce(swept, 0))::text as amount
    from analytics.liquidations
    where ${isBillOf(wallet)}
      and ${isWithin(sql`started_at`, span)}
    order by started_at, coin`);
  return rows.map((row) => ({ ...row, at: timeFrom(row.at), amount: decimalOf(row.amount) }));
}

export function liquidationTable({ liquidations }: LedgerClose, options: ReportOptions): Table {
  const { allDigits, zone } = options;
  const columns: Columns<Liquidation> = {
    liquidation: { kind: "time", title: "", of: ({ at }) => at },
    at: {
      ...{ kind: "text", title: "liquidation", isForPeople: true },
      of: ({ at }) => minuteIn(zone)(at),
    },
    contracts: { kind: "text", of: ({ symbols }) => symbols.join(" ") || null },
    coin: { kind: "text", of: ({ coin }) => coin },
    bills: { kind: "count", of: ({ bills }) => bills },
    amount: { kind: "money", of: ({ amount, coin }) => money(amount, coin, allDigits) },
  };
  return limited(table("liquidations", columns, liquidations), options);
}
