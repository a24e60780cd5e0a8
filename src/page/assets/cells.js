// Makes a table of links one stop of the Tab key: the arrow keys go from figure to figure. Without
// this script, each link is a stop.

const linksIn = (root) => [...root.querySelectorAll("td a[href], th a[href]")];
const tableOf = (link) => link.closest("table");
const rowOf = (link) => link.closest("tr");
const columnOf = (link) => link.closest("td, th").cellIndex;

/** Leaves one link of each table in the order of the Tab key: that of the last focus, or the first. */
const enter = (link) => {
  for (const other of linksIn(tableOf(link))) other.tabIndex = other === link ? 0 : -1;
};

const prepare = (root) => {
  for (const table of root.querySelectorAll("table")) {
    const [first] = linksIn(table);
    if (first === undefined) continue;
    enter(first);
    table.classList.add("roving");
    // The focused link scrolls the box.
    table.closest(".scroll")?.removeAttribute("tabindex");
  }
};

/** The link of the nearest row above or below that has any, in the nearest column. */
const beside = (link, step) => {
  const rows = [...tableOf(link).rows].filter((row) => linksIn(row).length > 0);
  const row = rows[rows.indexOf(rowOf(link)) + step];
  if (row === undefined) return undefined;
  const distance = (other) => Math.abs(columnOf(other) - columnOf(link));
  return linksIn(row).toSorted((a, b) => distance(a) - distance(b))[0];
};

const along = (link, step) => {
  const links = linksIn(tableOf(link));
  return links[links.indexOf(link) + step];
};

const keys = {
  ArrowLeft: (link) => along(link, -1),
  ArrowRight: (link) => along(link, 1),
  ArrowUp: (link) => beside(link, -1),
  ArrowDown: (link) => beside(link, 1),
  Home: (link) => linksIn(rowOf(link))[0],
  End: (link) => linksIn(rowOf(link)).at(-1),
};

const isCell = (target) =>
  target instanceof HTMLAnchorElement && target.closest(".roving :is(td, th)") !== null;

document.addEventListener("keydown", (event) => {
  const next = keys[event.key];
  if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  if (!isCell(event.target)) return;
  event.preventDefault();
  next(event.target)?.focus();
});
document.addEventListener("focusin", ({ target }) => {
  if (isCell(target)) enter(target);
});
// The script of live updates replaces whole sections.
document.addEventListener("replaced", ({ target }) => prepare(target));
prepare(document);
