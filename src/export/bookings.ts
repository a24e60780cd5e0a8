import type { Category } from "../contract/business-types.ts";

type Root = "Assets" | "Income" | "Expenses" | "Equity";

/** Where the other side of an amount is booked, by its sign. */
export type Booking = {
  readonly root: Root;
  readonly name: string;
  /** Shared by the product types of an account, so that what one sends to another cancels. */
  readonly ofAccount?: true;
};

export type KoinlyLabel = {
  /** Of what comes in. */
  readonly received: string;
  /** Of what goes out. */
  readonly sent: string;
};

type CategoryBooking = {
  readonly gain: Booking;
  readonly loss: Booking;
  readonly koinly: KoinlyLabel;
};

const both = (booking: Booking) => ({ gain: booking, loss: booking });
const bySign = (name: string) => ({
  gain: { root: "Income", name } as const,
  loss: { root: "Expenses", name } as const,
});

// Koinly's help says of the template: "realized gain" on every row of a futures account's profit
// and loss, which funding is part of. Tags that its list names: income, reward, cost, margin fee,
// fee refund. None is named for interest on futures, nor for copy trading: those rows carry the
// plain ones. Nobody here has imported such a file into Koinly.
const profitAndLoss = { received: "realized gain", sent: "realized gain" };
const incomeAndCost = { received: "income", sent: "cost" };
const unlabelled = { received: "", sent: "" };

/** The one table of what each category is to an accountant. A bill's fee is booked beside it. */
export const bookings: Readonly<Record<Category, CategoryBooking>> = {
  transfer: {
    ...both({ root: "Equity", name: "Transfers", ofAccount: true }),
    koinly: unlabelled,
  },
  trade: { ...both({ root: "Income", name: "RealisedPnl" }), koinly: profitAndLoss },
  liquidation: { ...both({ root: "Expenses", name: "Liquidation" }), koinly: profitAndLoss },
  funding: { ...bySign("Funding"), koinly: profitAndLoss },
  // Mostly moves nothing: where it does, reconcile has learned so.
  margin: { ...both({ root: "Equity", name: "Margin" }), koinly: unlabelled },
  bonus: {
    ...both({ root: "Income", name: "Bonus" }),
    koinly: { received: "reward", sent: "cost" },
  },
  copy: { ...bySign("CopyTrading"), koinly: incomeAndCost },
  delivery: { ...both({ root: "Income", name: "Delivery" }), koinly: profitAndLoss },
  interest: { ...bySign("Interest"), koinly: incomeAndCost },
  conversion: { ...both({ root: "Equity", name: "Conversion" }), koinly: unlabelled },
  unknown: { ...both({ root: "Equity", name: "Unmapped" }), koinly: unlabelled },
};

/** The fee of a bill of any category. */
export const feeBooking: CategoryBooking = {
  gain: { root: "Income", name: "FeeRebates" },
  loss: { root: "Expenses", name: "TradingFees" },
  koinly: { received: "fee refund", sent: "margin fee" },
};

export const openingBooking: Booking = { root: "Equity", name: "Opening" };
export const roundingBooking: Booking = { root: "Equity", name: "Rounding" };
export const unexplainedBooking: Booking = { root: "Equity", name: "Unexplained" };
