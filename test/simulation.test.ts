// Npm run simulate: what is typed, histories from files, mutants that still fit the source.

import { readFileSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { UsageError } from "../src/lib/errors.ts";
import { wantedBy } from "./simulation/command-line.ts";
import { drawHistory, exchangeKinds } from "./simulation/draw.ts";
import { mutants, mutated } from "./simulation/mutants.ts";
import { saveShrunk } from "./simulation/shrink.ts";

test("2,160 seeds in a row play every kind of exchange that the documentation allows", () => {
  const kinds = Array.from({ length: 2_160 }, (_, seed) => {
    const { paging: _paging, pageRows: _pageRows, ...quirks } = drawHistory(seed).exchange.quirks;
    return JSON.stringify(quirks);
  });
  expect(exchangeKinds.length).toBe(2_160);
  expect(new Set(kinds).size).toBe(2_160);
});

test("a history is plain data: printed and read again it is the same", () => {
  for (const seed of [0, 1, 2, 3, 4]) {
    const history = drawHistory(seed);
    expect(JSON.parse(JSON.stringify(history))).toEqual(history);
    expect(drawHistory(seed)).toEqual(history);
  }
});

test.each(mutants)("the source still holds what the mutant changes: $name", (mutant) => {
  const source = readFileSync(new URL(`../${mutant.file}`, import.meta.url), "utf8");
  expect(mutated(source, mutant)).not.toBe(source);
});

test("what is typed says which seeds are played, and by how many; what makes no sense is named in one line", () => {
  const wanted = (typed: string) => wantedBy(typed.split(" "));
  const seeds = [5, 6, 7];
  expect(wanted("--from 5 --seeds 3")).toEqual({ kind: "histories", seeds, workers: 2 });
  expect(wanted("--seed 7")).toEqual({ kind: "one", origin: { seed: 7 }, isTraced: false });
  expect(wanted("--mutants --only repair --workers 1")).toMatchObject({
    ...{ mutants: [{ name: "a repair that writes nothing" }], workers: 1 },
  });
  for (const typed of ["--seeds 0", "--sed 5", "--workers 900", "--only nosuch --mutants"])
    expect(() => wanted(typed)).toThrow(UsageError);
});

test("what a history shrinks to is read from its file again", () => {
  const saved = saveShrunk(drawHistory(1), ["first", "second"]);
  try {
    const origin = { history: drawHistory(1) };
    expect(wantedBy(["--history", saved.history])).toMatchObject({ kind: "one", origin });
    expect(readFileSync(saved.trace, "utf8")).toBe("first\nsecond\n");
  } finally {
    for (const path of Object.values(saved)) rmSync(path);
  }
});
