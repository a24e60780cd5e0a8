// Reads a chart's days out, at the pointer and by the arrow keys; Enter or a click opens a day's
// bills. Each day is a cell of the chart and contains its text. Without this script, the table below
// the chart gives the same figures and links.

for (const plot of document.querySelectorAll(".plot")) {
  const picture = plot.querySelector(".days");
  const reading = plot.querySelector("output");
  const cells = [...plot.querySelectorAll(".cell")];
  if (picture === null || reading === null || cells.length === 0) continue;
  const last = cells.length - 1;
  // The newest day is the first row.
  const rows = plot.closest("section")?.querySelectorAll(".data tbody tr") ?? [];
  const open = (index) => {
    const link = rows.length === cells.length && rows[last - index].querySelector("a[href]");
    if (link) location.assign(link.href);
  };
  let place = last;

  const show = (index) => {
    cells[place].classList.remove("at");
    place = Math.min(last, Math.max(0, index));
    const text = cells[place].querySelector("title")?.textContent ?? "";
    cells[place].classList.add("at");
    reading.textContent = text;
    picture.setAttribute("aria-valuenow", String(place + 1));
    picture.setAttribute("aria-valuetext", text);
  };
  const clear = () => {
    cells[place].classList.remove("at");
    reading.textContent = "";
  };

  picture.setAttribute("role", "slider");
  picture.setAttribute("tabindex", "0");
  picture.setAttribute("aria-valuemin", "1");
  picture.setAttribute("aria-valuemax", String(cells.length));
  picture.setAttribute("aria-valuenow", String(cells.length));
  picture.setAttribute("aria-valuetext", cells[last].querySelector("title")?.textContent ?? "");

  const keys = {
    ArrowLeft: () => place - 1,
    ArrowDown: () => place - 1,
    ArrowRight: () => place + 1,
    ArrowUp: () => place + 1,
    PageUp: () => place + 7,
    PageDown: () => place - 7,
    Home: () => 0,
    End: () => last,
  };
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter") return open(place);
    const next = keys[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(next());
  });
  picture.addEventListener("focus", () => show(place));
  picture.addEventListener("blur", clear);
  picture.addEventListener("pointermove", (event) => {
    const index = cells.indexOf(event.target);
    if (index !== -1) show(index);
  });
  picture.addEventListener("click", (event) => {
    const index = cells.indexOf(event.target);
    if (index !== -1) open(index);
  });
  picture.addEventListener("pointerleave", () => {
    if (document.activeElement !== picture) clear();
  });
}
