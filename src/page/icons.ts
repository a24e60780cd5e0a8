import { type Html, html } from "./html.ts";

// Icons beside words, so that no state is told by its colour alone. Each icon has its own outline.

const paths = {
  good: html`<path d="M3 8.6l3.4 3.4L13 4.6"/>`,
  warn: html`<path d="M8 2.2L14.6 13.8H1.4z M8 6.6v3.2 M8 11.6v.4"/>`,
  bad: html`<path d="M3.6 3.6l8.8 8.8 M12.4 3.6l-8.8 8.8"/>`,
  work: html`<path d="M13.2 8a5.2 5.2 0 1 1-1.6-3.8 M13.4 1.8v3.2h-3.2"/>`,
  none: html`<path d="M3 8h10"/>`,
} as const;

export type Icon = keyof typeof paths;

export const icon = (name: Icon): Html =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${paths[name]}</svg>`;

/** A state in a word or two. */
export const chip = (tone: Icon, text: string): Html =>
  html`<span class="chip ${tone}">${icon(tone)}${text}</span>`;
