import type { FleetTotals } from "../reports/fleet.ts";
import { fleetAlerts } from "../reports/fleet-alerts.ts";
import type { Metric } from "./metric.ts";

/** What all ledgers come to, however many of them have series of their own. */
export type FleetCounts = {
  readonly totals: FleetTotals;
  /** Accounts that are configured and were never read. */
  readonly unread: number;
  /** Ledgers that have series of their own. */
  readonly listed: number;
  /** Accounts whose rows cannot be read: the other counts are without them. */
  readonly unreachable: readonly string[];
};

/** Of very many unreachable accounts, so many are named. */
const namedMax = 1_000;

export function fleetMetrics(counts: FleetCounts): readonly Metric[] {
  const { totals, unread, listed, unreachable } = counts;
  const { wanted, paused, retired, closed } = totals;
  const one = (name: string, help: string, value: number): Metric => ({
    ...{ name, help, labels: [] },
    samples: [{ labels: {}, value }],
  });
  return [
    one("accounts", "Accounts of which a ledger was ever to be read.", totals.accounts),
    {
      name: "ledgers",
      help: "Ledgers that were ever to be read, by whether syncs are to read them still.",
      labels: ["state"],
      samples: Object.entries({ read: wanted, paused, retired, closed }).map(([state, value]) => ({
        labels: { state },
        value,
      })),
    },
    one(
      "ledgers_listed",
      "Ledgers that have series of their own. Of very many, the worst have.",
      listed,
    ),
    {
      name: "ledgers_alerting",
      help: "Ledgers that an alert rule is true of, listed or not; of breaks, those of their wallets.",
      labels: ["alert"],
      samples: fleetAlerts(totals, unread).map(({ name: alert, ledgers: value }) => ({
        labels: { alert },
        value,
      })),
    },
    one("stored_bills", "Bills that are stored, of all ledgers.", totals.bills),
    one(
      "accounts_unreachable",
      "Accounts whose rows cannot be read, so that all other metrics leave them out.",
      unreachable.length,
    ),
    {
      name: "unreachable_info",
      help: "Always 1. An account whose rows cannot be read. Of very many, a thousand are named.",
      labels: ["account"],
      samples: unreachable.slice(0, namedMax).map((account) => ({ labels: { account }, value: 1 })),
    },
  ];
}
