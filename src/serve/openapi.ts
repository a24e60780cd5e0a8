import { z } from "zod";
import { accountBills } from "../contract/account-bills.ts";
import { billFields } from "../contract/bill.ts";
import { contractFields, contracts } from "../contract/contracts.ts";
import { financialRecords } from "../contract/financial-records.ts";
import { fundingRecordFields, fundingRecords } from "../contract/funding-records.ts";
import {
  collateralFields,
  debtFields,
  loanToValue,
  loanToValueFields,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import { emptyLists, serverTimes } from "../contract/public-lists.ts";
import { spotBillFields, spotBills } from "../contract/spot-bills.ts";
import { symbolFields, symbols } from "../contract/symbols.ts";
import { accountSettings } from "../contract/unified-account.ts";
import { unifiedBillFields } from "../contract/unified-bill.ts";
import { programVersion } from "../version.ts";
import {
  billsQuery,
  fundingQuery,
  loanToValueQuery,
  recordsQuery,
  spotBillsQuery,
} from "./mirror/queries.ts";
import type { RouteGroup } from "./route-group.ts";

/**
 * The mirror's OpenAPI document. It is built once, from the schemas that requests are parsed with.
 */
export const openapi: RouteGroup = (app) => {
  const text = JSON.stringify(openapiDocument());
  app.get("/openapi.json", (_request, reply) => reply.type("application/json").send(text));
};

type Described = {
  readonly path: string;
  readonly access: "signed" | "public";
  readonly summary: string;
  readonly query: z.ZodType;
  readonly data: z.ZodType;
};

const record = z.object({
  ...loanToValueFields,
  subAccountUids: z.array(z.string()),
  unpaidInfo: z.array(z.object(debtFields)),
  balanceInfo: z.array(z.object(collateralFields)),
});

const described: readonly Described[] = [
  {
    ...accountBills,
    summary: "The bills of a classic account, newest first",
    query: billsQuery,
    data: z.object({ bills: z.array(z.object(billFields)), endId: z.string() }),
  },
  {
    ...financialRecords,
    summary: "The bills of a unified account, newest first",
    query: recordsQuery,
    data: z.object({ list: z.array(z.object(unifiedBillFields)), cursor: z.string() }),
  },
  {
    ...spotBills,
    summary: "The bills of a classic account's spot wallet, newest first",
    query: spotBillsQuery,
    data: z.array(z.object(spotBillFields)),
  },
  {
    ...fundingRecords,
    summary: "The bills of a unified account's funding wallet, newest first",
    query: fundingQuery,
    data: z.object({ list: z.array(z.object(fundingRecordFields)), cursor: z.string() }),
  },
  ...[loanToValue, unifiedLoanToValue].map((operation) => ({
    ...operation,
    summary: "The newest loan-to-value record of a risk unit",
    query: loanToValueQuery,
    data: record,
  })),
  {
    ...accountSettings,
    summary: "Whether the account is unified",
    data: z.object({ uid: z.string(), accountMode: z.string() }),
  },
  { ...symbols, summary: "The spot pairs", data: z.array(z.object(symbolFields)) },
  {
    ...contracts,
    summary: "The futures contracts of a product type",
    data: z.array(z.object({ ...contractFields, supportMarginCoins: z.array(z.string()) })),
  },
  ...serverTimes.map((operation) => ({
    ...operation,
    summary: "The time of the server's machine",
  })),
  ...emptyLists.map((operation) => ({
    ...operation,
    summary: `An empty list of ${operation.name}`,
  })),
];

/** The OpenAPI document. */
export function openapiDocument(): object {
  return {
    openapi: "3.1.0",
    info: {
      title: "bill-sync: the mirror",
      version: programVersion(),
      description:
        "What is stored, by the exchange's own API. Signed operations take a key of the server's own.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths: Object.fromEntries(described.map((one) => [one.path, { get: operationOf(one) }])),
    components: { securitySchemes, headers: completeness },
  };
}

function operationOf({ path, access, summary, query, data }: Described): object {
  return {
    operationId: path
      .slice("/api/".length)
      .replaceAll(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary,
    parameters: parametersOf(query),
    security: access === "signed" ? [Object.fromEntries(signedBy.map((name) => [name, []]))] : [],
    responses: {
      "200": {
        description: "A success; its code is 00000.",
        headers:
          path === accountBills.path || path === financialRecords.path ? completenessRefs : {},
        content: contentOf(schemaOf(data)),
      },
      default: {
        description: "A refusal; its code and msg say why.",
        content: contentOf({ type: "null" }),
      },
    },
  };
}

function parametersOf(query: z.ZodType): readonly object[] {
  const { properties = {}, required = [] } = schemaOf(query);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

const contentOf = (data: object) => ({
  "application/json": {
    schema: {
      type: "object",
      required: ["code", "msg", "requestTime", "data"],
      properties: {
        code: { type: "string" },
        msg: { type: "string" },
        requestTime: { type: "integer" },
        data,
      },
    },
  },
});

/**
 * Converts a schema to JSON Schema. Scalars are transforms, so their metadata describes their
 * input.
 */
function schemaOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" });
  return rest;
}

const signedBy = ["key", "sign", "passphrase", "timestamp"];
const securitySchemes = Object.fromEntries(
  signedBy.map((name) => [
    name,
    { type: "apiKey", in: "header", name: `ACCESS-${name.toUpperCase()}` },
  ]),
);

const completeness = {
  "X-Complete-From": { description: "When the coverage begins.", schema: { type: "string" } },
  "X-Complete-Through": {
    description: "Up to when nothing is missing but the gaps.",
    schema: { type: "string" },
  },
  "X-Gaps": {
    description: "What was lost or is not read, as from/to, separated by commas.",
    schema: { type: "string" },
  },
};

const completenessRefs = Object.fromEntries(
  Object.keys(completeness).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);
