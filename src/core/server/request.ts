import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { Refusal } from "./answer.ts";

/** A request as the server sees it, independent of the transport. Query values are decoded, header names are lower case. */
export type ApiRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The text after the question mark. Default the query, percent-encoded. */
  readonly sentQuery?: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly clientAddress: string;
};

/** A request of Node's. A URL that is not valid is of no path. */
export function readRequest({
  method = "",
  url = "",
  headers,
  socket,
}: IncomingMessage): ApiRequest {
  const target = URL.parse(url, "http://server");
  return {
    ...{ method, path: target?.pathname ?? "" },
    query: Object.fromEntries(target?.searchParams ?? []),
    sentQuery: sentQueryOf(url),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value?.toString()]),
    ),
    clientAddress: socket.remoteAddress ?? "unknown",
  };
}

/** The text after the question mark, exactly as sent: `URL` would percent-encode some of it. */
const sentQueryOf = (url: string): string => {
  const at = url.indexOf("?");
  return at === -1 ? "" : (url.slice(at + 1).split("#")[0] ?? "");
};

/** What is asked of a list of bills, under the names of all operations. */
export type ListQuery = {
  readonly coin?: string | undefined;
  readonly businessType?: string | undefined;
  /** Of v3: the business type. */
  readonly type?: string | undefined;
  readonly onlyFunding?: "yes" | "no" | undefined;
  readonly idLessThan?: string | undefined;
  /** Of v3: the id that older bills are asked below. */
  readonly cursor?: string | undefined;
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
  readonly limit?: string | undefined;
};

/** A request's parameters, or why they are refused. */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: Readonly<Record<string, string>>,
): z.output<Schema> | Refusal {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return issue === undefined ? illegalTimeRange() : queryRefusal(issue, query);
}

/** The code from public records that fits best: which condition gives which code is not documented. */
function queryRefusal(issue: z.core.$ZodIssue, query: Readonly<Record<string, string>>): Refusal {
  if (issue.code === "unrecognized_keys")
    return new Refusal(400, "40034", `Parameter ${issue.keys.join(", ")} does not exist`);
  const name = String(issue.path[0] ?? "");
  if (name === "endTime" && issue.code === "custom" && query["startTime"] !== undefined)
    return illegalTimeRange();
  if (name === "category") return unknownProduct(name);
  if (query[name] === undefined)
    return new Refusal(400, "40019", `Parameter ${name} cannot be empty`);
  if (name === "productType") return unknownProduct(name);
  return new Refusal(400, "40020", `Parameter ${name} error`);
}

const unknownProduct = (name: string) =>
  new Refusal(400, "400172", `Parameter verification failed ${name}`);

export const illegalTimeRange = () => new Refusal(400, "43111", "param error time range illegal");
