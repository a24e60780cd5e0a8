import type { z } from "zod";
import { accountBills, pageSizeDefault } from "../contract/account-bills.ts";
import { loanToValue } from "../contract/loan-to-value.ts";
import type { Operation } from "../contract/operation.ts";
import { isDemoProductType } from "../contract/product-types.ts";
import { symbols } from "../contract/symbols.ts";
import { type EpochMs, epochMs, historyMs } from "../contract/time.ts";
import { wrongEnvironment } from "./authenticate.ts";
import { type Caller, type Permission, Refusal, type Source } from "./source.ts";

/**
 * What becomes of a startTime older than 90 days: `trim` serves what is left of the stretch,
 * `refuse` refuses it, `serve` knows no such limit (a mirror keeps what the exchange forgets).
 */
export type PastHorizon = "trim" | "refuse" | "serve";

/** What an admitted request is served from and with. */
export type Context = {
  readonly source: Source;
  readonly query: Readonly<Record<string, string>>;
  readonly now: EpochMs;
  /** What the exchange takes for the time: history ends 90 days before it. */
  readonly clock: EpochMs;
  /** Whether the request asks for the demo environment. */
  readonly demo: boolean;
  readonly pastHorizon: PastHorizon;
};

type Serve<Arguments extends unknown[]> = (...given: Arguments) => Promise<object | Refusal>;

export type Route =
  | { access: "public"; operation: Operation; serve: Serve<[Context]> }
  | {
      access: "signed";
      operation: Operation;
      permission: Permission;
      serve: Serve<[Context, Caller]>;
    };

export const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  [
    accountBills.path,
    { access: "signed", operation: accountBills, permission: "bills", serve: serveBills },
  ],
  [
    loanToValue.path,
    {
      access: "signed",
      operation: loanToValue,
      permission: "loan-to-value",
      serve: serveLoanToValue,
    },
  ],
  [symbols.path, { access: "public", operation: symbols, serve: serveSymbols }],
]);

async function serveBills(context: Context, caller: Caller): Promise<object | Refusal> {
  const { source, now, clock, demo, pastHorizon } = context;
  const query = readQuery(accountBills.query, context.query);
  if (query instanceof Refusal) return query;
  if (isDemoProductType(query.productType) && demo) return wrongEnvironment();
  const startTime = optionalTime(query.startTime);
  const horizon = epochMs(clock - historyMs);
  if (pastHorizon === "refuse" && startTime !== undefined && startTime < horizon)
    return illegalTimeRange();
  return source.bills({
    caller,
    now,
    productType: query.productType,
    coin: query.coin,
    businessType: query.businessType,
    onlyFunding: query.onlyFunding === "yes",
    idLessThan: query.idLessThan,
    startTime,
    endTime: optionalTime(query.endTime),
    horizon: pastHorizon === "serve" ? undefined : horizon,
    limit: query.limit === undefined ? pageSizeDefault : Number(query.limit),
  });
}

async function serveLoanToValue(context: Context, caller: Caller): Promise<object | Refusal> {
  const query = readQuery(loanToValue.query, context.query);
  if (query instanceof Refusal) return query;
  return context.source.loanToValue({ caller, now: context.now, riskUnitId: query.riskUnitId });
}

async function serveSymbols(context: Context): Promise<object | Refusal> {
  const query = readQuery(symbols.query, context.query);
  if (query instanceof Refusal) return query;
  return context.source.symbols(query.symbol?.trim() || undefined);
}

function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: Readonly<Record<string, string>>,
): z.output<Schema> | Refusal {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return issue === undefined ? illegalTimeRange() : queryRefusal(issue, query);
}

/** The code that fits best among those in public records; which condition gives which is not documented. */
function queryRefusal(issue: z.core.$ZodIssue, query: Readonly<Record<string, string>>): Refusal {
  if (issue.code === "unrecognized_keys")
    return new Refusal(400, "40034", `Parameter ${issue.keys.join(", ")} does not exist`);
  const name = String(issue.path[0] ?? "");
  if (name === "endTime" && issue.code === "custom" && query["startTime"] !== undefined)
    return illegalTimeRange();
  if (query[name] === undefined)
    return new Refusal(400, "40019", `Parameter ${name} cannot be empty`);
  if (name === "productType")
    return new Refusal(400, "400172", "Parameter verification failed productType");
  return new Refusal(400, "40020", `Parameter ${name} error`);
}

const illegalTimeRange = () => new Refusal(400, "43111", "param error time range illegal");

const optionalTime = (digits: string | undefined): EpochMs | undefined =>
  digits === undefined ? undefined : epochMs(Number(digits));
