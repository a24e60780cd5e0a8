// Reads back what a page shows from its markup.

/** A cell: its text without markup, and its decimal; null if that is unknown. */
type Cell = {
  readonly text: string;
  readonly value: string | null;
  readonly href: string | undefined;
};

/** The first cell of a row, and the others. */
export type FigureRow = { readonly name: string; readonly cells: readonly Cell[] };

export type FigureTable = {
  readonly titles: readonly string[];
  readonly rows: readonly FigureRow[];
  readonly total: FigureRow | undefined;
};

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};
const unescaped = (text: string): string =>
  text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity);
const textOf = (markup: string): string => unescaped(markup.replaceAll(/<[^>]*>/g, "")).trim();

/** The tables of a section, in order. */
export function tablesIn(page: string, section: string): readonly FigureTable[] {
  const [, markup = ""] =
    new RegExp(`<section[^>]* id="${section}"([\\s\\S]*?)</section>`).exec(page) ?? [];
  return [...markup.matchAll(/<table[\s\S]*?<\/table>/g)].map(([table]) => tableOf(table));
}

function tableOf(table: string): FigureTable {
  const part = (name: string) =>
    new RegExp(`<${name}>([\\s\\S]*)</${name}>`).exec(table)?.[1] ?? "";
  const [head] = rowsOf(part("thead"));
  const [total] = rowsOf(part("tfoot"));
  return {
    titles: (head?.cells ?? []).map(({ text }) => text),
    rows: rowsOf(part("tbody")),
    total,
  };
}

const rowsOf = (markup: string): readonly FigureRow[] =>
  [...markup.matchAll(/<tr[^>]*>([\s\S]*?)<\/tr>/g)].map(([, row = ""]) => {
    const [name, ...cells] = [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(
      ([, cell = ""]) => cellOf(cell),
    );
    return { name: name?.text ?? "", cells };
  });

function cellOf(markup: string): Cell {
  const text = textOf(markup);
  const href = / href="([^"]*)"/.exec(markup)?.[1];
  const value = /<data [^>]*value="([^"]*)"/.exec(markup)?.[1];
  return {
    text,
    value: value ?? (text.startsWith("–") ? "0" : null),
    href: href === undefined ? undefined : unescaped(href),
  };
}
