import { add, type Decimal, decimalOf } from "./decimal.ts";
import type { ExportedBill } from "./exported-bill.ts";

/** By how much a bill changes the balance of its coin. */
export const balanceChange = ({
  walletAmount,
  walletFee,
}: Pick<ExportedBill, "walletAmount" | "walletFee">): Decimal =>
  add(decimalOf(walletAmount), decimalOf(walletFee));
