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

addCopies();
for (const group of document.querySelectorAll("[data-rove]")) addArrows(group);

const focusable = "a[href], summary, button, input, [tabindex]";

/** Replaces the section that has the same id. Folds stay open, and the focus stays. */
const replace = (fresh) => {
  const old = document.getElementById(fresh.id);
  if (old === null) return location.reload();
  // Who is typing into it is not disturbed.
  if (old.contains(document.activeElement) && document.activeElement.matches("input")) return;
  const folds = old.querySelectorAll("details");
  for (const [place, fold] of fresh.querySelectorAll("details").entries()) {
    fold.open = folds[place]?.open ?? false;
  }
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  old.replaceWith(fresh);
  addCopies();
  if (focused !== -1) fresh.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
};

// Only the overview changes while it is open.
if (document.getElementById("verdict") !== null) {
  const live = new EventSource(`/page/live${location.search}`);
  live.addEventListener("parts", ({ data }) => {
    const parts = new DOMParser().parseFromString(JSON.parse(data), "text/html");
    for (const fresh of parts.querySelectorAll("section[id]")) replace(fresh);
  });
  // Any figure may have changed by the end of a sync.
  live.addEventListener("ended", () => location.reload());
}
