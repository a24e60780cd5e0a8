// Waiting pages request one turn together.

import { setTimeout as sleep } from "node:timers/promises";
import PQueue from "p-queue";
import { expect, test } from "vitest";
import { batchCommits } from "../src/ledger/write-pages.ts";
import { aPage, minutes } from "./support/held-store.ts";

const ledger = { account: "main", productType: "USDT-FUTURES" } as const;

test("however many pages come while a group is written, what else waits is next but one", async () => {
  const turns = new PQueue({ concurrency: 1 });
  let pagesCommitted = 0;
  let commits = 0;
  let waitingMost = 0;
  const commitPage = batchCommits(turns, async (pages) => {
    await sleep(1);
    waitingMost = Math.max(waitingMost, turns.size);
    pagesCommitted += pages.length;
    commits += 1;
    return pages.map(() => ({ new: 0, unchanged: 0, restated: 0, rejected: 0 }));
  });
  const walks = Array.from({ length: 8 }, async (_, walk) => {
    const window = minutes(walk, walk + 1);
    for (let page = 0; page < 50; page++) {
      await commitPage(aPage(ledger, window, { cursor: `c${page}` }));
    }
  });
  await Promise.all(walks);
  expect(pagesCommitted).toBe(8 * 50);
  expect(commits).toBeLessThan(pagesCommitted / 2);
  expect(waitingMost).toBe(1);
  expect(turns.size).toBe(0);
});
