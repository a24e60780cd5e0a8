import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { constants } from "node:zlib";
import { type FastifyCompressOptions, fastifyCompress } from "@fastify/compress";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { asTyped } from "../../../lib/as-typed.ts";
import { type Html, html } from "../../../output/html.ts";
import { faultOf, type RouteGroup, type ServeDeps } from "../route-group.ts";
import { writeBillsPage } from "./bills-page.ts";
import { downloads } from "./downloads.ts";
import { askedIn, messagePage, sendPage } from "./layout.ts";
import { writePage } from "./page.ts";
import { writeRunsPage } from "./runs.ts";
import type { Asked } from "./selection.ts";

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Whether a request may see the page, which has no password of its own. This machine may, but only
 * under its own names: another site's name that was made to resolve to it (DNS rebinding) is
 * refused. Others may only under names that the user assigned to an authenticating proxy.
 */
export function isShownTo(
  host: string | undefined,
  address: string | undefined,
  names: readonly string[],
): boolean {
  const name = host?.replace(/:\d+$/, "").toLowerCase();
  if (name === undefined) return false;
  const isLocal = /^(?:::ffff:)?127\.|^::1$/.test(address ?? "");
  return names.includes(name) || (loopbackNames.includes(name) && isLocal);
}

/**
 * The page loads nothing from other sites, runs only scripts that are files of this server, and
 * cannot be framed.
 */
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

const compression = {
  encodings: ["gzip"],
  // A Parquet file is already compressed.
  customTypes: /^text\/|^image\/svg/,
  // Flushes after each part, not when a block is full: the first part is on the screen while the database still
  // computes the others.
  zlibOptions: { flush: constants.Z_SYNC_FLUSH },
} as const satisfies FastifyCompressOptions;

// Monitors of an address send HEAD.
const withHead = { exposeHeadRoute: true };

/** The page at `/`. It answers only GET and HEAD, and changes nothing. */
export const page: RouteGroup = (app, deps) => {
  app.register(async (scope) => {
    scope.addHook("onRequest", async (request, reply) => {
      reply.headers(headers);
      const address = request.socket.remoteAddress;
      if (isShownTo(request.headers.host, address, deps.pageNames ?? [])) return;
      return sendPage(reply, 403, refused);
    });
    await scope.register(fastifyCompress, compression);
    addAssets(scope);
    downloads(scope, deps);
    const pages: Readonly<Record<string, WritePage>> = {
      "/": (tx, query, write) => writePage(tx, { ...deps, query }, write),
      "/bills": writeBillsPage,
      "/runs": writeRunsPage,
    };
    for (const [path, writeTo] of Object.entries(pages)) {
      scope.get(path, withHead, (request, reply) =>
        sendInParts(reply, deps, (tx, write) => writeTo(tx, askedIn(request), write)),
      );
    }
  });
};

type WritePage = (tx: Transaction, query: Asked, write: (part: Html) => void) => Promise<void>;

const refused = messagePage(
  "Not shown under this name",
  html`The page has no password of its own. This machine reads it at <code>http://localhost</code> or <code>http://127.0.0.1</code>. For others, put a proxy before it that asks them who they are, and name its host: <code>serve --page-host bills.example.com</code>.`,
);

/** The answer to an address that does not exist. */
export const sendNoSuchPage = (reply: FastifyReply): FastifyReply =>
  sendPage(reply.headers(headers), 404, noSuchPage);

const noSuchPage = messagePage(
  "There is no such page",
  html`<a href="/">The page of the ledgers</a> has links to all others.`,
);

function addAssets(app: FastifyInstance): void {
  for (const { name, type, text } of readAssets()) {
    app.get(`/page/${name}`, withHead, async (_request, reply) => reply.type(type).send(text));
  }
}

/** Shown where the rest of a page cannot be read. */
const broken = html`<section class="card failed" role="alert"><h2>The rest cannot be shown</h2>
<p>The database did not answer to the end. What stands above is right. The server's log says more.</p></section>`;

const away = messagePage(
  "The database does not answer",
  html`Try again in a moment. The server's log says why.`,
);

/** Sends each part as soon as it is written. If the first one fails, the answer is 503. */
async function sendInParts(
  reply: FastifyReply,
  deps: ServeDeps,
  work: (tx: Transaction, write: (part: Html) => void) => Promise<void>,
): Promise<FastifyReply> {
  const body = new PassThrough();
  const begun = Promise.withResolvers<boolean>();
  const write = ({ text }: Html): void => {
    // The reader may have gone.
    if (!body.destroyed) body.write(asTyped(deps, text));
    begun.resolve(true);
  };
  void deps
    .read((tx) => work(tx, write))
    .catch((thrown: unknown) => {
      deps.log.error(faultOf(thrown), "the page failed");
      begun.resolve(false);
      write(broken);
    })
    .finally(() => body.end());
  if (await begun.promise) return reply.type("text/html; charset=utf-8").send(body);
  return sendPage(reply.header("retry-after", "5"), 503, away);
}

/** The page's own files, under the names that the page asks for. */
const assets = {
  "page.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
} as const;

type Asset = { readonly name: string; readonly type: string; readonly text: string };

const readAssets = (): readonly Asset[] =>
  Object.entries(assets).map(([name, type]) => ({
    ...{ name, type },
    text: readFileSync(new URL(`assets/${name}`, import.meta.url), "utf8"),
  }));
