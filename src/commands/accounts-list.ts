import type { Database } from "../db/connect.ts";
import { readStatus, type StreamStatus } from "../health/ledger-status.ts";
import { becameText } from "../output/account-remarks.ts";
import { formatCount, formatCounted, formatMinute } from "../output/format.ts";
import { type Columns, table } from "../output/result.ts";
import { streamName } from "../output/stream-names.ts";
import { unreachableJson, unreachableLines } from "../output/unreachable-text.ts";
import type { Config } from "../roster/config.ts";
import { readSelected } from "../roster/reachable.ts";
import { everyLedger, listed, type RosterLedger, readRoster } from "../roster/roster.ts";
import type { ExitCode, Io } from "./io.ts";
import { answer } from "./options.ts";
import { noResult, openStored } from "./stored.ts";

export type ListOptions = {
  readonly json: boolean;
  /** The most accounts to list. Default 10,000 in JSON, and otherwise 1,000. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/** Nobody reads more accounts than this, and no program at once: `page` says what follows. */
const usualLimit = (json: boolean) => (json ? 10_000 : 1_000);

/** How many accounts are read at once. All windows of each are read. */
const readAtOnce = 1_000;

/** `accounts list`: every ledger that is configured or stored, and whether it is read. */
export async function listAccounts(
  config: Config,
  io: Io,
  { json, limit = usualLimit(json), offset = 0 }: ListOptions,
): Promise<ExitCode> {
  await using stored = await openStored(config, io);
  const { db } = stored;
  if (db === undefined) {
    return answer(
      io,
      json,
      noResult(config, { streams: [], page: { limit, offset, accounts: 0 } }),
    );
  }
  const { result, unreachable } = await readSelected(db, config, everyLedger, async (among) => {
    const roster = listed(await readRoster(db, config, everyLedger, among));
    const byAccount = Map.groupBy(roster, ({ account }) => account);
    const shown = [...byAccount.values()].slice(offset, offset + limit);
    const ledgers: Ledger[] = [];
    for (let at = 0; at < shown.length; at += readAtOnce)
      ledgers.push(...(await readLedgers(db, config, shown.slice(at, at + readAtOnce).flat())));
    return { ledgers, shown: shown.length, page: { limit, offset, accounts: byAccount.size } };
  });
  const { ledgers, shown, page } = result;
  return answer(io, json, {
    data: { page, ...unreachableJson(unreachable) },
    parts: [
      table("streams", columns, ledgers),
      ...pageLines(page, shown),
      ...unreachableLines(unreachable),
    ],
    exit: unreachable.length === 0 ? 0 : 1,
  });
}

type Page = { readonly [name in "limit" | "offset" | "accounts"]: number };

/** A line that says which accounts are shown, where not all are. */
function pageLines({ limit, offset, accounts }: Page, shown: number): readonly string[] {
  if (shown === accounts) return [];
  const next = offset + shown;
  const rest = next < accounts ? `; --limit ${limit} --offset ${next} shows the next` : "";
  const after = offset === 0 ? "" : ` after the first ${formatCount(offset)}`;
  return [`${formatCount(shown)} of ${formatCounted(accounts, "account")}${after}${rest}`];
}

type Ledger = StreamStatus & Pick<RosterLedger, "state" | "isConfigured">;

async function readLedgers(
  db: Database,
  { settleLagMs }: Config,
  roster: readonly RosterLedger[],
): Promise<readonly Ledger[]> {
  const streams = roster.map(({ account, productType }) => ({ account, productType }));
  const names = [...new Set(roster.map(({ account }) => account))];
  const status = await readStatus(db, streams, settleLagMs, names);
  return status.streams.flatMap((one, at) => {
    const ledger = roster[at];
    return ledger === undefined
      ? []
      : { ...one, state: ledger.state, isConfigured: ledger.isConfigured };
  });
}

const columns: Columns<Ledger> = {
  account: { kind: "text", title: "", of: ({ stream }) => stream.account },
  productType: { kind: "text", title: "", of: ({ stream }) => stream.productType },
  ledger: {
    kind: "text",
    title: "account/product type",
    isForPeople: true,
    of: ({ stream }) => streamName(stream),
  },
  configured: { kind: "value", of: ({ isConfigured }) => isConfigured },
  retiredAt: { kind: "time", title: "", of: ({ retiredAt }) => retiredAt },
  pausedAt: { kind: "time", title: "", of: ({ pausedAt }) => pausedAt },
  closedAt: { kind: "time", title: "", of: ({ closedAt }) => closedAt },
  bills: { kind: "count", of: ({ bills }) => bills },
  completeThrough: { kind: "time", of: ({ completeThrough }) => completeThrough },
  completeThroughMs: { kind: "value", of: ({ completeThrough }) => completeThrough },
  state: { kind: "text", title: "", of: ({ state }) => state },
  stateSince: { kind: "text", title: "state", isForPeople: true, of: stateText },
};

function stateText({ stream, state, retiredAt, closedAt, pausedAt }: Ledger): string {
  switch (state) {
    case "retired":
      return `retired ${formatMinute(retiredAt)}`;
    case "closed":
      return `closed ${formatMinute(closedAt)}: ${becameText(stream)}`;
    case "paused":
      return `paused ${formatMinute(pausedAt)}`;
    default:
      return state;
  }
}
