// What the page does beyond being read: it is complete without this.

const focusable = "a[href], summary, [tabindex]";

/** Puts a fresh part in the place of the one with its id, as the reader has left that one. */
const replace = (fresh) => {
  const old = document.getElementById(fresh.id);
  if (old === null) return location.reload();
  const folds = old.querySelectorAll("details");
  for (const [place, fold] of fresh.querySelectorAll("details").entries()) {
    fold.open = folds[place]?.open ?? false;
  }
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  old.replaceWith(fresh);
  if (focused !== -1) fresh.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
};

/** A break that a link leads to is seen with all that is folded about it. */
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target === null || !target.matches(".break")) return;
  const about = target.nextElementSibling?.querySelector("details");
  for (
    let fold = about ?? target.closest("details");
    fold;
    fold = fold.parentElement?.closest("details")
  ) {
    fold.open = true;
  }
  target.scrollIntoView();
};
unfold();
addEventListener("hashchange", unfold);

// A page of bills has nothing that changes.
if (document.getElementById("trust") !== null) {
  const live = new EventSource(`/page/live${location.search}`);
  live.addEventListener("parts", ({ data }) => {
    const parts = new DOMParser().parseFromString(JSON.parse(data), "text/html");
    for (const fresh of parts.querySelectorAll("section[id]")) replace(fresh);
  });
  // All figures may be others now.
  live.addEventListener("ended", () => location.reload());
}
