import type { z } from "zod";
import { Refusal } from "./source.ts";

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

export const unknownProduct = (name: string) =>
  new Refusal(400, "400172", `Parameter verification failed ${name}`);

export const illegalTimeRange = () => new Refusal(400, "43111", "param error time range illegal");
