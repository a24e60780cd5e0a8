import type { FastifyReply, FastifyRequest } from "fastify";
import { accountBills } from "../../contract/account-bills.ts";
import { contracts } from "../../contract/contracts.ts";
import { financialRecords } from "../../contract/financial-records.ts";
import { fundingRecords } from "../../contract/funding-records.ts";
import { loanToValue, unifiedLoanToValue } from "../../contract/loan-to-value.ts";
import { emptyLists, serverTimes } from "../../contract/public-lists.ts";
import { spotBills } from "../../contract/spot-bills.ts";
import { symbols } from "../../contract/symbols.ts";
import { epochMs } from "../../contract/time.ts";
import { accountSettings } from "../../contract/unified-account.ts";
import type { Transaction } from "../../db/connect.ts";
import { sentQueryOf } from "../../exchange-server/http.ts";
import { Refusal } from "../../exchange-server/source.ts";
import type { RouteGroup } from "../route-group.ts";
import { sendEnvelope } from "../send-envelope.ts";
import { accessBy, createRollingLimit, exceeded, type Query } from "./access.ts";
import {
  type Asked,
  type Served,
  serveBills,
  serveFunding,
  serveRecords,
  serveSpotBills,
} from "./bill-pages.ts";
import { knownLedgers } from "./ledger-times.ts";
import { serveContracts, serveLoanToValue, serveSettings, serveSymbols } from "./stored-records.ts";

/** The exchange's own API, answered from the stored tables. */
export const mirror: RouteGroup = (app, deps) => {
  const { read, keys, now, limits, http } = deps;
  const { maxAgeMs } = limits;
  const access = accessBy(keys, now, http.authFailed);
  const bills = { ...deps, maxAgeMs, ledgers: knownLedgers() };
  // Public lists are limited by address, as at the exchange.
  const asked = createRollingLimit(symbols.limit.requests, symbols.limit.perMs);

  const send = (reply: FastifyReply, { data, headers }: Served) =>
    sendEnvelope(reply, data, headers, Math.floor(now()));
  const signed = (path: string, serve: (asked: Asked) => Promise<Served>) =>
    app.get(path, async (request, reply) => {
      const query = queryOf(request);
      const key = access(request, query instanceof Refusal ? {} : query);
      if (key instanceof Refusal) return send(reply, { data: key });
      if (query instanceof Refusal) return send(reply, { data: query });
      return send(reply, await serve({ key, query, now: epochMs(now()) }));
    });

  const open = (path: string, serve: (tx: Transaction, query: Query) => Promise<Served>) =>
    app.get(path, async (request, reply) => {
      const refusal = exceeded(asked, request.ip, now());
      if (refusal !== undefined) return send(reply, { data: refusal });
      const query = queryOf(request);
      if (query instanceof Refusal) return send(reply, { data: query });
      return send(reply, await read((tx) => serve(tx, query)));
    });

  signed(accountBills.path, (asked) => serveBills(bills, asked));
  signed(financialRecords.path, (asked) => serveRecords(bills, asked));
  signed(spotBills.path, (asked) => serveSpotBills(bills, asked));
  signed(fundingRecords.path, (asked) => serveFunding(bills, asked));
  for (const { path } of [loanToValue, unifiedLoanToValue])
    signed(path, (asked) => read((tx) => serveLoanToValue(tx, asked, maxAgeMs)));
  signed(accountSettings.path, (asked) => read((tx) => serveSettings(tx, asked)));
  open(symbols.path, serveSymbols);
  open(contracts.path, serveContracts);
  for (const { path } of serverTimes)
    app.get(path, (_request, reply) =>
      send(reply, { data: { serverTime: String(Math.floor(now())) } }),
    );
  for (const { path } of emptyLists) app.get(path, (_request, reply) => send(reply, { data: [] }));
};

/**
 * The query's parameters. A parameter that appears twice is refused: one value would be signed and
 * the other read.
 */
function queryOf({ raw }: FastifyRequest): Query | Refusal {
  const pairs = [...new URLSearchParams(sentQueryOf(raw.url ?? ""))];
  const names = new Set(pairs.map(([name]) => name));
  return names.size === pairs.length
    ? Object.fromEntries(pairs)
    : new Refusal(400, "40020", "A parameter is given twice");
}
