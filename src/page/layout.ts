import { type Html, html } from "./html.ts";

/** An entry of the menu: a section's id and its title. */
export type Place = { readonly id: string; readonly title: string };

/**
 * The page up to its first section.
 * @param isSyncAtWork makes the page reload itself every few seconds where scripts are off.
 */
export const pageHead = (
  title: string,
  menu: readonly Place[],
  isSyncAtWork = false,
): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/page.css">
<script src="/page/page.js" type="module"></script>
<script src="/page/charts.js" type="module"></script>
<script src="/page/cells.js" type="module"></script>
${isSyncAtWork ? html`<noscript><meta http-equiv="refresh" content="5"></noscript>` : ""}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<a class="brand" href="/">bill-sync</a>
<nav aria-label="Sections">${menu.map(({ id, title: name }) => html`<a href="#${id}">${name}</a>`)}</nav>
</header>
<main id="main">`;

/** The page after its last section. */
export const pageFoot = (notes: Html): Html => html`
</main>
<footer>${notes}</footer>
</body>
</html>
`;

/** A page with one message, instead of something that cannot be shown. */
export const messagePage = (title: string, message: Html): Html =>
  html`${pageHead(title, [])}
<section class="card"><h1>${title}</h1><p>${message}</p></section>${pageFoot(html``)}`;
