// Live updates, buttons that copy commands, and arrow keys. The page is complete without this script.

/** Beside each command to type, a button that copies it. */
const addCopies = () => {
  for (const code of document.querySelectorAll(".todo code:not(:has(+ button))")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${code.textContent}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    });
    code.after(button);
  }
};

/**
 * The links of a table or picture are one stop of the Tab key: arrow keys go from one to the next, and up and
 * down to the same column of the next row.
 */
const addArrows = (group) => {
  const links = [...group.querySelectorAll("a")];
  for (const [place, link] of links.entries()) link.tabIndex = place === 0 ? 0 : -1;
  group.addEventListener("keydown", (event) => {
    const link = event.target.closest("a");
    const place = links.indexOf(link);
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -place, End: links.length - 1 - place }[
      event.key
    ];
    const next = step === undefined ? besideIn(link, event.key) : links[place + step];
    if (place === -1 || !next) return;
    event.preventDefault();
    link.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
};

const besideIn = (link, key) => {
  const cell = link?.closest("td, th");
  const side = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[key];
  if (!cell || !side) return undefined;
  for (let row = cell.parentElement[side]; row; row = row[side]) {
    const next = row.cells[cell.cellIndex]?.querySelector("a");
    if (next) return next;
  }
  return undefined;
};

const sectionsOf = (page) => page.querySelectorAll("main > section[id]");
/** Each section's markup as it was served. */
const shown = new Map([...sectionsOf(document)].map((section) => [section.id, section.outerHTML]));

const prepare = (part) => {
  addCopies();
  for (const group of part.querySelectorAll("[data-rove]")) addArrows(group);
};
prepare(document);

const focusable = "a[href], summary, button, input, [tabindex]";

/** Replaces the section that has the same id, if it has changed. Folds stay open, and the focus stays. */
const replace = (fresh) => {
  const markup = fresh.outerHTML;
  if (shown.get(fresh.id) === markup) return;
  const old = document.getElementById(fresh.id);
  if (old === null) return location.reload();
  // Who is typing or choosing in it is not disturbed.
  if (old.contains(document.activeElement) && document.activeElement.matches("input, select"))
    return;
  shown.set(fresh.id, markup);
  const folds = old.querySelectorAll("details");
  for (const [place, fold] of fresh.querySelectorAll("details").entries()) {
    fold.open = folds[place]?.open ?? false;
  }
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  old.replaceWith(fresh);
  prepare(fresh);
  if (focused !== -1) fresh.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
};

const restMs = 5_000;

/** Shows what has changed. Where a page takes long, its server rests for a multiple of that. */
const follow = async () => {
  const startedAt = performance.now();
  const answer = document.hidden ? undefined : await fetch(location.href).catch(() => undefined);
  if (answer?.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const fresh of sectionsOf(page)) replace(fresh);
  }
  setTimeout(follow, restMs + 4 * (performance.now() - startedAt));
};

// Only the overview changes while it is open.
if (document.getElementById("verdict") !== null) setTimeout(follow, restMs);
