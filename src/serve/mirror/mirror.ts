import type { FastifyReply, FastifyRequest } from "fastify";
import { accountBills } from "../../contract/account-bills.ts";
import { financialRecords } from "../../contract/financial-records.ts";
import { epochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { toAnswer } from "../../server/api.ts";
import { sentQueryOf } from "../../server/http.ts";
import { Refusal } from "../../server/source.ts";
import type { RouteGroup } from "../routes.ts";
import { accessBy, type Query } from "./access.ts";
import { type Asked, type Served, serveBills, serveRecords } from "./bills.ts";
import { ledgerTimesReader } from "./ledger-times.ts";

type Serve = (tx: Transaction, asked: Asked) => Promise<Served>;

/** The exchange's own API, answered from what is stored. */
export const mirror: RouteGroup = (app, { read, keys, now, settleLagMs, maxAgeMs }) => {
  const access = accessBy(keys, now);
  const readTimes = ledgerTimesReader(settleLagMs);

  const send = (reply: FastifyReply, { data, headers = {} }: Served) => {
    const answer = toAnswer(data, now());
    return reply
      .code(answer.status)
      .headers({ ...headers, ...answer.headers })
      .send(answer.body);
  };
  const signed = (path: string, serve: Serve) =>
    app.get(path, async (request, reply) => {
      const query = queryOf(request);
      const key = access(request, query instanceof Refusal ? {} : query);
      if (key instanceof Refusal) return send(reply, { data: key });
      if (query instanceof Refusal) return send(reply, { data: query });
      return send(reply, await read((tx) => serve(tx, { key, query, now: epochMs(now()) })));
    });

  signed(accountBills.path, (tx, asked) => serveBills({ tx, readTimes, maxAgeMs }, asked));
  signed(financialRecords.path, (tx, asked) => serveRecords({ tx, readTimes, maxAgeMs }, asked));
};

/** A parameter that is given twice would be signed as one and read as the other. */
function queryOf({ raw }: FastifyRequest): Query | Refusal {
  const pairs = [...new URLSearchParams(sentQueryOf(raw.url ?? ""))];
  const names = new Set(pairs.map(([name]) => name));
  return names.size === pairs.length
    ? Object.fromEntries(pairs)
    : new Refusal(400, "40020", "A parameter is given twice");
}
