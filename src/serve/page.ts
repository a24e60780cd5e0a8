import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { explained } from "../db/database-errors.ts";
import { firstThrown, messageOf } from "../errors.ts";
import { writeBillsPage } from "../page/bills/bills-page.ts";
import { type Html, html } from "../page/html.ts";
import { messagePage } from "../page/layout.ts";
import { type Asked, writePage } from "../page/page.ts";
import type { RouteGroup, ServeDeps } from "./routes.ts";

/** Nothing is loaded from elsewhere, nothing runs that is not a file of ours, and nobody frames it. */
const headers = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

const assets = {
  "page.css": "text/css; charset=utf-8",
  "money.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "charts.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
} as const;

/** The page that a person reads, at `/`. */
export const page: RouteGroup = (app, deps) => {
  app.register(async (own) => {
    own.addHook("onRequest", async (_request, reply) => {
      reply.headers(headers);
    });
    addAssets(own);
    own.get("/", (request, reply) =>
      sendInParts(reply, deps, (write) =>
        deps.read((tx) => writePage(tx, askedOf(request, deps), write)),
      ),
    );
    own.get("/bills", (request, reply) =>
      sendInParts(reply, deps, (write) =>
        deps.read((tx) => writeBillsPage(tx, askedOf(request, deps).query, write)),
      ),
    );
  });
};

function addAssets(app: FastifyInstance): void {
  for (const [name, type] of Object.entries(assets)) {
    const text = readFileSync(new URL(`../page/assets/${name}`, import.meta.url), "utf8");
    app.get(`/page/${name}`, async (_request, reply) => reply.type(type).send(text));
  }
}

const askedOf = ({ url }: FastifyRequest, { settleLagMs }: ServeDeps): Asked => ({
  query: new URL(url, "http://localhost").searchParams,
  settleLagMs,
});

/** What a person is told where the rest of a page cannot be had. */
const broken = html`<section class="card failed" role="alert"><h2>The rest cannot be shown</h2>
<p>The database did not answer to the end. What stands above is right. The server's log says more.</p></section>`;

/** Sends each part as soon as it is there. Where the first one fails, the answer is 503. */
async function sendInParts(
  reply: FastifyReply,
  { log }: Pick<ServeDeps, "log">,
  work: (write: (part: Html) => void) => Promise<void>,
): Promise<FastifyReply> {
  const body = new PassThrough();
  const begun = Promise.withResolvers<boolean>();
  const write = ({ text }: Html): void => {
    body.write(text);
    begun.resolve(true);
  };
  void work(write)
    .catch((thrown: unknown) => {
      log.error({ error: messageOf(explained(firstThrown(thrown))) }, "the page failed");
      begun.resolve(false);
      body.write(broken.text);
    })
    .finally(() => body.end());
  reply.type("text/html; charset=utf-8");
  if (await begun.promise) return reply.send(body);
  return reply
    .code(503)
    .send(
      messagePage(
        "The database does not answer",
        html`Try again in a moment. The server's log says why.`,
      ).text,
    );
}
