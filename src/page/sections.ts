import type { WalletSection } from "./section.ts";

/** What the page shows of the selected wallet, in this order. */
export const walletSections: readonly WalletSection[] = [];
