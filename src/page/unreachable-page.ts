import { unreachableLines } from "../terminal/unreachable-text.ts";
import { html } from "./html.ts";
import { messagePage } from "./layout.ts";

/** Instead of a page about all accounts, while the rows of some cannot be read. */
export const unreachablePage = (unreachable: Parameters<typeof unreachableLines>[0]) =>
  messagePage(
    "Some accounts cannot be read",
    html`The page is about all accounts, so it waits for ${unreachableLines(unreachable).join("; ")}. Meanwhile <code>bill-sync status</code> shows the others.`,
  );
