// Npm run simulate: what is typed, and mutants that still fit the source.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { UsageError } from "../src/lib/errors.ts";
import { wantedBy } from "./simulation/command-line.ts";
import { drawHistory, exchangeKinds } from "./simulation/draw.ts";
import { mutants, mutated } from "./simulation/mutants.ts";

test("2,160 seeds in a row play every kind of exchange that the documentation allows", () => {
  const kinds = Array.from({ length: 2_160 }, (_, seed) => {
    const { paging: _paging, pageRows: _pageRows, ...quirks } = drawHistory(seed).exchange.quirks;
    return JSON.stringify(quirks);
  });
  expect(exchangeKinds.length).toBe(2_160);
  expect(new Set(kinds).size).toBe(2_160);
});

test.each(mutants)("the source still holds what the mutant changes: $name", (mutant) => {
  const source = readFileSync(new URL(`../${mutant.file}`, import.meta.url), "utf8");
  expect(mutated(source, mutant)).not.toBe(source);
});

test("what is typed says which seeds are played, and by how many; what makes no sense is named in one line", () => {
  const wanted = (typed: string) => wantedBy(typed.split(" "));
  const seeds = [5, 6, 7];
  const all = { kind: "histories", isTraced: false };
  expect(wanted("--from 5 --seeds 3")).toEqual({ ...all, seeds, workers: 2 });
  expect(wanted("--seed 7")).toEqual({ ...all, seeds: [7], workers: 1 });
  expect(wanted("--mutants --only repair --workers 1")).toMatchObject({
    ...{ mutants: [{ name: "a repair that writes nothing" }], workers: 1 },
  });
  for (const typed of ["--seeds 0", "--sed 5", "--workers 900", "--only nosuch --mutants"])
    expect(() => wanted(typed)).toThrow(UsageError);
});
