import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Account, Config } from "../config/config.ts";
import { refuseTakenKey, rememberingKey } from "../db/account-keys.ts";
import type { Database } from "../db/connect.ts";
import { visitAccount } from "../db/guest.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { beginRun, finishRun } from "../db/run-log.ts";
import { openVerifyStore } from "../db/verify-store.ts";
import { firstThrown, messageOf } from "../errors.ts";
import { createAddressLimits } from "../exchange/address-limits.ts";
import { openTransport } from "../exchange/transport.ts";
import type { Interval } from "../sync/intervals.ts";
import { verifyBills } from "../sync/verify.ts";
import { streamName } from "../terminal/stream-names.ts";
import { exchangeOf } from "./exchange.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import {
  type AccountVerification,
  exitCodeOf,
  Findings,
  type Verification,
  verificationJson,
  verificationText,
} from "./verify-result.ts";
import { readSpan } from "./verify-span.ts";

export type VerifyOptions = {
  readonly from: string;
  readonly to: string;
  readonly heal: boolean;
  readonly json: boolean;
};

/** What a person is shown of each kind; JSON has all. */
const shownMax = 100;

/**
 * `verify`: reads a span from the exchange again, as a guest beside whoever syncs the account, and
 * compares it with what is stored; with `heal` it writes what differs.
 */
export async function verifyCommand(
  config: Config,
  io: Io,
  options: VerifyOptions,
): Promise<ExitCode> {
  const span = readSpan(options, systemClock.now());
  const notice = (message: string) => {
    io.err.write(`${message}\n`);
  };
  await using database = await openCommandDatabase(config.database, notice);
  for (const warning of config.warnings) notice(warning);
  const { db } = database;
  await migrate(database.url.reveal());
  await using transport = openTransport();
  const way = {
    transport,
    clock: systemClock,
    random: Math.random,
    addressLimits: createAddressLimits(systemClock),
  };
  const runId = randomUUID();
  if (options.heal) await beginRun(db, runId, "verify");
  const findings = new Findings(options.json ? Number.POSITIVE_INFINITY : shownMax);
  const deps = { config, io, notice, db, way, runId, span, heal: options.heal, findings };
  const reports = await Promise.all(config.accounts.map((account) => verifyOne(deps, account)));
  const verification = { span, reports, findings };
  if (options.json) printJson(io, verificationJson(verification));
  else print(io, verificationText(verification));
  if (options.heal) await logEnd(db, runId, verification);
  return exitCodeOf(verification);
}

type Deps = {
  readonly config: Config;
  readonly io: Io;
  readonly notice: (message: string) => void;
  readonly db: Database;
  readonly way: Parameters<typeof exchangeOf>[2];
  readonly runId: string;
  readonly span: Interval;
  readonly heal: boolean;
  readonly findings: Findings;
};

/** Never throws: what stopped it is in the report. */
async function verifyOne(deps: Deps, account: Account): Promise<AccountVerification> {
  const { config, io, notice, db, way, runId, span, heal, findings } = deps;
  const { name, productTypes, credentials } = account;
  try {
    if (credentials === undefined) throw new Error(`defect: account ${name} has no credentials`);
    const named = { account: name, key: credentials.key };
    await refuseTakenKey(db, named);
    await using guest = await visitAccount(db, name, { onWait: notice, signal: io.signal });
    const { client, exchangeNow, beGuest } = exchangeOf(config, account, way);
    await beGuest();
    const opened = openVerifyStore(db, guest, runId);
    const store = { ...opened, heal: rememberingKey(db, named)(opened.heal) };
    const streams = await verifyBills(
      {
        client,
        exchangeNow,
        assertHeld: guest.assertHeld,
        store,
        heal,
        signal: io.signal,
        onFinding: (finding) => findings.add(finding),
        onFailure: (stream, { message }) =>
          notice(`${streamName(stream)}: a request failed: ${message}`),
      },
      name,
      productTypes,
      span,
    );
    return { account: name, streams, error: undefined };
  } catch (error) {
    return { account: name, streams: [], error: firstThrown(error) };
  }
}

function logEnd(db: Database, runId: string, verification: Verification): Promise<void> {
  const exitCode = exitCodeOf(verification);
  const errors = verification.reports.flatMap(({ error, streams }) => [
    ...(error === undefined ? [] : [messageOf(error)]),
    ...streams.flatMap((one) => (one.error === undefined ? [] : [messageOf(one.error)])),
  ]);
  return finishRun(db, runId, {
    outcome: ({ 0: "complete", 1: "incomplete", 2: "failed", 3: "held" } as const)[exitCode],
    counts: {
      accounts: verification.reports.map(({ account, streams }) => ({
        account,
        streams: streams.map(({ stream, compared }) => ({
          productType: stream.productType,
          compared,
          ...verification.findings.counts(stream),
        })),
      })),
    },
    error: errors.length === 0 ? null : [...new Set(errors)].join("; "),
  });
}
