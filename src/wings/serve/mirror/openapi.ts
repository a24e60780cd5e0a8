import { z } from "zod";
import { programVersion } from "../../../lib/version.ts";
import type { RouteGroup } from "../route-group.ts";
import { type Route, routes } from "./mirror.ts";

/**
 * The mirror's OpenAPI document. It is built once, from the schemas that requests are parsed with.
 */
export const openapi: RouteGroup = (app) => {
  const text = JSON.stringify(openapiDocument());
  app.get("/openapi.json", (_request, reply) => reply.type("application/json").send(text));
};

/** The OpenAPI document. */
function openapiDocument(): object {
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
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: operationOf(route) }])),
    components: { securitySchemes },
  };
}

function operationOf({ path, access, name: summary, query, data }: Route): object {
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
