import type { z } from "zod";
import { contracts } from "../../../core/contract/contracts.ts";
import { loanToValue, unifiedLoanToValue } from "../../../core/contract/loan-to-value.ts";
import { emptyLists, serverTimes } from "../../../core/contract/public-lists.ts";
import { symbols } from "../../../core/contract/symbols.ts";
import { accountSettings } from "../../../core/contract/unified-account.ts";
import { Refusal } from "../../../core/server/answer.ts";
import { type ApiRequest, readQuery, readRequest } from "../../../core/server/request.ts";
import { epochMs } from "../../../lib/time.ts";
import type { RouteGroup } from "../route-group.ts";
import { type Served, sendEnvelope } from "../send-envelope.ts";
import { type Access, type Admitted, accessBy, createRollingLimit } from "./access.ts";
import { serveBills } from "./bills.ts";
import { createLedgerCache, type MirrorDeps } from "./ledger-time.ts";
import { listings } from "./listings.ts";
import { serveContracts, serveLoanToValue, serveSettings, serveSymbols } from "./stored-records.ts";

type Asked<Query extends z.ZodType> = { readonly path: string; readonly query: Query };

type Route = {
  readonly path: string;
  answer(request: ApiRequest, door: Door): Promise<Served>;
};

type Door = {
  readonly access: Access;
  /** Takes one use of the public lists. */
  readonly refusalOf: (address: string) => Refusal | undefined;
  readonly deps: MirrorDeps;
};

const signed = <Query extends z.ZodType>(
  { path, query: schema }: Asked<Query>,
  serve: (query: z.output<Query>, asked: Admitted, deps: MirrorDeps) => Promise<Served>,
): Route => ({
  path,
  async answer(request, { access, deps }) {
    const key = access(request);
    if (key instanceof Refusal) return { data: key };
    const query = queryOf(schema, request);
    if (query instanceof Refusal) return { data: query };
    return serve(query, { key, now: epochMs(deps.now()) }, deps);
  },
});

const open = <Query extends z.ZodType>(
  { path, query: schema }: Asked<Query>,
  serve: (query: z.output<Query>, deps: MirrorDeps) => Promise<Served>,
): Route => ({
  path,
  async answer(request, { refusalOf, deps }) {
    const query = refusalOf(request.clientAddress) ?? queryOf(schema, request);
    return query instanceof Refusal ? { data: query } : serve(query, deps);
  },
});

/** A parameter that appears twice is refused: one value would be signed and the other read. */
function queryOf<Query extends z.ZodType>(
  schema: Query,
  { query, sentQuery = "" }: ApiRequest,
): z.output<Query> | Refusal {
  return new URLSearchParams(sentQuery).size === Object.keys(query).length
    ? readQuery(schema, query)
    : new Refusal(400, "40020", "A parameter is given twice");
}

export const routes: readonly Route[] = [
  ...listings.map((listing) =>
    signed(listing, (query, asked, deps) => serveBills(listing, query, asked, deps)),
  ),
  ...[loanToValue, unifiedLoanToValue].map((operation) => signed(operation, serveLoanToValue)),
  signed(accountSettings, serveSettings),
  open(symbols, serveSymbols),
  open(contracts, serveContracts),
  ...serverTimes.map((operation) =>
    open(operation, async (_, { now }) => ({ data: { serverTime: String(Math.floor(now())) } })),
  ),
  ...emptyLists.map((operation) => open(operation, async () => ({ data: [] }))),
];

/** The exchange's own API, answered from the stored tables. */
export const mirror: RouteGroup = (app, deps) => {
  const { keys, now, http } = deps;
  // Public lists are limited by address, as at the exchange.
  const usesOf = createRollingLimit(symbols.limit.requests);
  const door: Door = {
    access: accessBy(keys, now, http.authFailed),
    refusalOf: (address) => usesOf(address, now()),
    deps: { ...deps, ledgers: createLedgerCache() },
  };
  for (const { path, answer } of routes)
    app.get(path, async ({ raw }, reply) => {
      const served = await answer(readRequest(raw), door);
      return sendEnvelope(reply, served, Math.floor(now()));
    });
};
