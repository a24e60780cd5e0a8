import { balance } from "./money/balance.ts";
import { bridge } from "./money/bridge.ts";
import { contracts } from "./money/contracts.ts";
import { filters } from "./money/filters.ts";
import { loanToValue } from "./money/loan-to-value.ts";
import { result } from "./money/result.ts";
import { rollforward } from "./money/rollforward.ts";
import type { WalletSection } from "./section.ts";

/** The sections about the selected wallet, in the order of the page. */
export const walletSections: readonly WalletSection[] = [
  filters,
  balance,
  bridge,
  result,
  contracts,
  rollforward,
  loanToValue,
];
