// Live updates and links to breaks. The page is complete without this script.

const focusable = "a[href], summary, [tabindex]";

/** Replaces the element that has the same id. Folds stay open, and the focus stays. */
const replace = (fresh) => {
  const old = document.getElementById(fresh.id);
  if (old === null) return location.reload();
  const folds = old.querySelectorAll("details");
  for (const [place, fold] of fresh.querySelectorAll("details").entries()) {
    fold.open = folds[place]?.open ?? false;
  }
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  old.replaceWith(fresh);
  fresh.dispatchEvent(new Event("replaced", { bubbles: true }));
  if (focused !== -1) fresh.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
};

/** Opens a break that the address links to, and all folds around it. */
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

// Only the main page changes while it is open; the page of bills does not.
if (document.getElementById("trust") !== null) {
  const live = new EventSource(`/page/live${location.search}`);
  live.addEventListener("parts", ({ data }) => {
    const parts = new DOMParser().parseFromString(JSON.parse(data), "text/html");
    for (const fresh of parts.querySelectorAll("section[id]")) replace(fresh);
  });
  // Any figure may have changed by the end of a sync.
  live.addEventListener("ended", () => location.reload());
}
