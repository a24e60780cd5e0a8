import { unifiedProductTypes } from "../../src/core/contract/product-types.ts";
import { hourMs } from "../../src/lib/time.ts";
import { integer, seededRandom } from "../../src/wings/sandbox/random.ts";
import { drawFaultSchedule } from "../exchange/kinds.ts";
import type { AccountKind, History, Step } from "./history.ts";

/**
 * In one history of eight, the exchange hides bills in ways that only balances show: it leaves pages out, or some answers
 * lag. The account is classic or unified, its ledger adds up, and each sync ends with the check.
 */
export function withHealing(history: History): History {
  const random = seededRandom(`healed ${history.seed}`);
  if (random() >= 0.125) return history;
  const {
    account: drawn,
    records: _,
    isUserUntold: __,
    exchange,
    ledger,
    steps,
    ...others
  } = history;
  const { paging: ___, ...quirks } = exchange.quirks;
  const isUnified = seededRandom(`healed account ${history.seed}`)() < 0.5;
  const account = isUnified && drawn !== undefined ? alwaysUnified(drawn) : undefined;
  // A unified account has one chain of balances over its product types, whose order only the ids tell.
  const plain = account === undefined ? {} : { idJitterMs: 0, bursts: [] };
  const lagMs = random() < 0.5 ? 0 : integer(random, 1, 48) * hourMs;
  const hidden = (index: number): Step["exchange"] =>
    lagMs > 0
      ? []
      : drawFaultSchedule(random, {
          requests: index === 0 ? 40 : 10,
          count: integer(random, 1, 6),
          kinds: ["page-skipped"],
        });
  return {
    ...others,
    ...(account !== undefined && { account }),
    // Of many small pages, one more often lies between two others.
    exchange: { ...exchange, quirks: { ...quirks, pageRows: integer(random, 12, 60) } },
    // Rows that cannot be read are missing for a reason of their own, and added ones are not in their ledger's balances.
    ledger: { ...ledger, density: 2 * ledger.density, brokenRows: 0, edgeBills: false, ...plain },
    healing: { lagMs },
    steps: steps.map(({ key: _, ...step }, index) => ({
      ...step,
      passMs: index === 0 ? 0 : Math.max(step.passMs, hourMs),
      recent: [],
      exchange: hidden(index),
      process: step.process.filter(({ kind }) => kind !== "verify"),
    })),
  };
}

/** The account as if it had always been unified. Its chain of balances is checked once all its product types are read. */
const alwaysUnified = (account: AccountKind): AccountKind => ({
  ...account,
  modes: [{ atMs: 0, mode: "unified" }],
  productTypes: unifiedProductTypes,
  density: account.density / unifiedProductTypes.length,
  areIdsReused: false,
});
