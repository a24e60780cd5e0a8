import type { FastifyReply, FastifyRequest } from "fastify";
import { type Html, type HtmlPart, html } from "../../../output/html.ts";
import type { Asked, Days } from "./selection.ts";

/** The pages, with their addresses. */
const pages = { Overview: "/", Bills: "/bills", Runs: "/runs" } as const;
type PageName = keyof typeof pages;

/**
 * A page up to its first section.
 * @param query the wallet and days that the other pages keep, as `?account=…`.
 * @param isSyncAtWork makes the page load itself anew every few seconds where scripts are off.
 */
export const pageHead = (
  title: string,
  current: PageName | undefined,
  { query = "", isSyncAtWork = false } = {},
): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – bill-sync</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/page.css">
<script src="/page/page.js" type="module"></script>
${isSyncAtWork ? html`<noscript><meta http-equiv="refresh" content="5"></noscript>` : ""}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div><b>bill-sync</b><nav aria-label="Pages">${Object.entries(pages).map(
  ([name, address]) =>
    html`<a href="${address}${query}"${name === current ? html` aria-current="page"` : ""}>${name}</a>`,
)}</nav></div></header>
<main id="main">`;

export const pageFoot = (note: HtmlPart): Html => html`
</main>
<footer><p>${note}</p></footer>
</body>
</html>
`;

/** A block of a page: its title, a word beside it, and its content. */
export const block = (
  {
    id,
    title,
    beside,
  }: { readonly id: string; readonly title: string; readonly beside?: HtmlPart },
  content: HtmlPart,
): Html => html`
<section id="${id}" aria-labelledby="${id}-title">
<div class="head"><h2 id="${id}-title">${title}</h2>${beside === undefined ? "" : html`<div class="beside">${beside}</div>`}</div>
${content}
</section>`;

/** A page with one message, instead of something that cannot be shown. */
export const messagePage = (title: string, message: HtmlPart): Html =>
  html`${pageHead(title, undefined)}
<section><h1>${title}</h1><p>${message}</p></section>${pageFoot("")}`;

/** A table that scrolls in its own frame where the window is narrow. */
export const frame = (label: string, table: Html): Html =>
  html`<div class="frame" tabindex="0" role="region" aria-label="${label}">${table}</div>`;

/** The first and last day of a form. */
export const dateFields = ({ from, to }: Days): Html =>
  html`<label><span class="unseen">From</span><input type="date" name="from" value="${from}"></label><label><span class="unseen">to</span><input type="date" name="to" value="${to}"></label>`;

/** What an address asks for and does not exist. */
export const missedNote = (missed: readonly string[], instead = ""): Html =>
  missed.length === 0
    ? html``
    : html`<p class="warn">There is no ${missed.join(", no ")}${instead}.</p>`;

/** What a page's address asks for. */
export const askedIn = ({ url }: Pick<FastifyRequest, "url">): Asked =>
  new URL(url, "http://localhost").searchParams;

export const sendPage = (reply: FastifyReply, status: number, { text }: Html): FastifyReply =>
  reply.code(status).type("text/html; charset=utf-8").send(text);
