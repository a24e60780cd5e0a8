import type { Category } from "../../core/contract/business-types.ts";

type Root = "Assets" | "Liabilities" | "Income" | "Expenses" | "Equity";

/** Where the other side of an amount is booked, by its sign. */
export type Booking = {
  readonly root: Root;
  readonly name: string;
  /**
   * The level at which the journal's account is kept; default the product type. Product types share one
   * of level "account", so that what one of them sends to another cancels out.
   */
  readonly owner?: "account" | "wallet";
};

export type KoinlyLabel = {
  /** Of an amount that comes in. */
  readonly received: string;
  /** Of an amount that goes out. */
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

// Koinly's help on the template asks for "realized gain" on every row of a futures account's profit and
// loss, including funding. Its list of tags has income, reward, cost, margin fee, fee refund and some for
// loans. It has none for interest on futures or for copy trading, whose rows are tagged income or cost.
// Nobody here has imported such a file into Koinly.
const profitAndLoss = { received: "realized gain", sent: "realized gain" };
const incomeAndCost = { received: "income", sent: "cost" };
const unlabelled = { received: "", sent: "" };

// The accounts for fees, both those in a bill with an amount and those in bills of their own.
const feeRebates = { root: "Income", name: "FeeRebates" } as const;
const feesPaid = { root: "Expenses", name: "FeesPaid" } as const;

/** How each category is booked. A bill's fee is booked separately, see {@link feeBooking}. */
export const bookings: Readonly<Record<Category, CategoryBooking>> = {
  transfer: {
    ...both({ root: "Equity", name: "Transfers", owner: "account" }),
    koinly: unlabelled,
  },
  trade: { ...both({ root: "Income", name: "RealisedPnl" }), koinly: profitAndLoss },
  liquidation: { ...both({ root: "Expenses", name: "Liquidation" }), koinly: profitAndLoss },
  funding: { ...bySign("Funding"), koinly: profitAndLoss },
  // Usually moves nothing. Where it does move the wallet, reconcile has learned so.
  margin: { ...both({ root: "Equity", name: "Margin" }), koinly: unlabelled },
  bonus: {
    ...both({ root: "Income", name: "Bonus" }),
    koinly: { received: "reward", sent: "cost" },
  },
  copy: { ...bySign("CopyTrading"), koinly: incomeAndCost },
  delivery: { ...both({ root: "Income", name: "Delivery" }), koinly: profitAndLoss },
  interest: { ...bySign("Interest"), koinly: incomeAndCost },
  conversion: { ...both({ root: "Equity", name: "Conversion" }), koinly: unlabelled },
  // One coin is exchanged for another: no profit is booked, since that needs prices.
  spot: { ...both({ root: "Equity", name: "SpotTrades" }), koinly: unlabelled },
  loan: {
    // In a unified account a loan may be borrowed in one category and repaid in another.
    ...both({ root: "Liabilities", name: "Loan", owner: "wallet" }),
    koinly: { received: "loan", sent: "loan repayment" },
  },
  "fee-bills": {
    gain: feeRebates,
    loss: feesPaid,
    koinly: { received: "fee refund", sent: "cost" },
  },
  deposit: { ...both({ root: "Equity", name: "Deposits" }), koinly: unlabelled },
  withdrawal: { ...both({ root: "Equity", name: "Withdrawals" }), koinly: unlabelled },
  // An income statement shows it, until somebody says what it is.
  unclassified: { ...both({ root: "Income", name: "Unclassified" }), koinly: unlabelled },
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
export const discrepancyBooking = ofWallet("Discrepancy");
