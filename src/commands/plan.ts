import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { accountBills } from "../contract/account-bills.ts";
import { symbols } from "../contract/symbols.ts";
import { isoTime } from "../contract/time.ts";
import { hasSchema } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { readKnownTime } from "../db/store.ts";
import { openTransport } from "../exchange/transport.ts";
import { lengthMs } from "../sync/intervals.ts";
import { planStream } from "../sync/plan.ts";
import type { StreamPlan } from "../sync/store.ts";
import { formatCount, formatDuration, formatTable, formatTime } from "../terminal/format.ts";
import { exchangeOf } from "./exchange.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";

/** `plan`: what sync would fetch. Writes nothing and asks the exchange for its time only. */
export async function planCommand(
  config: Config,
  io: Io,
  options: { readonly json: boolean },
): Promise<ExitCode> {
  await using database = await openCommandDatabase(config.database, (message) => {
    io.err.write(`${message}\n`);
  });
  await using transport = openTransport();
  const { client, exchangeNow } = exchangeOf(
    config,
    {},
    { transport, clock: systemClock, random: Math.random },
  );
  // Any public answer carries the exchange's time; that of one symbol is the smallest.
  await client.ask(symbols, { symbol: "BTCUSDT" }, { signal: io.signal });
  const now = exchangeNow();
  const isNew = !(await hasSchema(database.db));
  const plans: StreamPlan[] = [];
  for (const { name, productTypes } of config.accounts) {
    for (const productType of productTypes) {
      const stream = { account: name, productType };
      const known = isNew ? nothingKnown : await readKnownTime(database.db, stream);
      plans.push(planStream(stream, known, now));
    }
  }
  if (options.json) printJson(io, plans.map(planJson));
  else print(io, planText(plans, config.accounts.length));
  return 0;
}

const nothingKnown = { coverage: [], expired: [], open: [] };

/** Each window takes one request at least, which finds it empty; each account one to greet. */
function planText(plans: readonly StreamPlan[], accounts: number): string {
  const table = formatTable(
    ["account/product type", "windows", "resumed", "time", "from", "requests at least"],
    plans.map(planRow),
  );
  const windows = plans.reduce((sum, { walks }) => sum + walks.length, 0);
  const requests = windows + accounts;
  const { limit } = accountBills;
  const perAccount = Math.ceil(requests / accounts);
  const expectedMs = (perAccount * limit.perMs) / limit.requests;
  return [
    table,
    "",
    `${formatCount(windows)} windows, ${formatCount(requests)} requests at least: ` +
      `${formatDuration(expectedMs)} at ${limit.requests} a second, and a request more for every ` +
      "page of up to 100 bills",
  ].join("\n");
}

function planRow({ stream, walks }: StreamPlan): readonly string[] {
  const windows = walks.map(({ window }) => window);
  return [
    `${stream.account}/${stream.productType}`,
    formatCount(walks.length),
    formatCount(walks.filter(({ cursor }) => cursor !== undefined).length),
    formatDuration(lengthMs(windows)),
    formatTime(windows[0]?.from),
    formatCount(walks.length),
  ];
}

const planJson = ({ stream, walks, expired }: StreamPlan): object => ({
  ...stream,
  windows: walks.map(({ window, cursor }) => ({
    from: isoTime(window.from),
    to: isoTime(window.to),
    resumed: cursor !== undefined,
  })),
  requestsAtLeast: walks.length,
  expired: expired.map(({ from, to }) => ({ from: isoTime(from), to: isoTime(to) })),
});
