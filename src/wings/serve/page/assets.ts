import { readFileSync } from "node:fs";

/** The page's own files, under the names that the page asks for. */
const assets = {
  "page.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
} as const;

export type Asset = { readonly name: string; readonly type: string; readonly text: string };

export const readAssets = (): readonly Asset[] =>
  Object.entries(assets).map(([name, type]) => ({
    ...{ name, type },
    text: readFileSync(new URL(`assets/${name}`, import.meta.url), "utf8"),
  }));
