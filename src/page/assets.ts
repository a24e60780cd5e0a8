import { readFileSync } from "node:fs";

// The page's own files. The style sheet is several files, of which later ones win.

const styles = ["base", "tables", "trust", "ledgers", "charts", "money", "narrow", "print"];

const assets = {
  "page.css": { type: "text/css; charset=utf-8", files: styles.map((name) => `${name}.css`) },
  "page.js": { type: "text/javascript; charset=utf-8", files: ["page.js"] },
  "cells.js": { type: "text/javascript; charset=utf-8", files: ["cells.js"] },
  "charts.js": { type: "text/javascript; charset=utf-8", files: ["charts.js"] },
  "icon.svg": { type: "image/svg+xml", files: ["icon.svg"] },
} as const;

export type Asset = { readonly name: string; readonly type: string; readonly text: string };

/** All of them, under the names that the page asks for. */
export const readAssets = (): readonly Asset[] =>
  Object.entries(assets).map(([name, { type, files }]) => ({
    name,
    type,
    text: files.map(textOf).join(""),
  }));

const textOf = (file: string): string =>
  readFileSync(new URL(`assets/${file}`, import.meta.url), "utf8");
