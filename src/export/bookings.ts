import type { Category } from "../contract/business-types.ts";

type Root = "Assets" | "Liabilities" | "Income" | "Expenses" | "Equity";

/** Where the other side of an amount is booked, by its sign. */
export type Booking = {
  readonly root: Root;
  readonly name: string;
  /**
   * Whose it is; default the product type's. One of an account is shared by its product types, so that
   * what one sends to another cancels.
   */
  readonly owner?: "account" | "wallet";
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
// plain ones. A loan has tags of its own. Nobody here has imported such a file into Koinly.
const profitAndLoss = { received: "realized gain", sent: "realized gain" };
const incomeAndCost = { received: "income", sent: "cost" };
const unlabelled = { received: "", sent: "" };

// What a fee is booked to, whether it stands beside a bill's amount or in a row of its own.
const feeRebates = { root: "Income", name: "FeeRebates" } as const;
const feesPaid = { root: "Expenses", name: "TradingFees" } as const;

/** The one table of what each category is to an accountant. A bill's fee is booked beside it. */
export const bookings: Readonly<Record<Category, CategoryBooking>> = {
  transfer: {
    ...both({ root: "Equity", name: "Transfers", owner: "account" }),
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
  // Two coins change places: what one is worth in the other is a matter of prices, and no profit here.
  spot: { ...both({ root: "Equity", name: "SpotTrades" }), koinly: unlabelled },
  loan: {
    // Borrowed in one category of a unified account, and repaid in another.
    ...both({ root: "Liabilities", name: "Loan", owner: "wallet" }),
    koinly: { received: "loan", sent: "loan repayment" },
  },
  fees: {
    gain: feeRebates,
    loss: feesPaid,
    koinly: { received: "fee refund", sent: "cost" },
  },
  unknown: { ...both({ root: "Equity", name: "Unmapped" }), koinly: unlabelled },
};

/** The fee of a bill of any category. */
export const feeBooking: CategoryBooking = {
  gain: feeRebates,
  loss: feesPaid,
  koinly: { received: "fee refund", sent: "margin fee" },
};

const ofWallet = (name: string): Booking => ({ root: "Equity", name, owner: "wallet" });

export const openingBooking = ofWallet("Opening");
export const closingBooking = ofWallet("Closing");
export const roundingBooking = ofWallet("Rounding");
export const unexplainedBooking = ofWallet("Unexplained");
