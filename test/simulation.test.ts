// Npm run simulate: what is typed, histories from files, mutants that still fit the source.

import { readFileSync, rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { UsageError } from "../src/errors.ts";
import { wantedBy } from "./simulation/command-line.ts";
import { drawHistory, exchangeKinds } from "./simulation/draw.ts";
import { mutants, mutated } from "./simulation/mutants.ts";
import { saveShrunk } from "./simulation/trace.ts";

test("2,160 seeds in a row play every kind of exchange that the documentation allows", () => {
  const kinds = Array.from({ length: 2_160 }, (_, seed) => {
    const { quirks, pastHorizon } = drawHistory(seed).exchange;
    return JSON.stringify({ quirks, pastHorizon });
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

test("a mutant whose text is gone, or is there twice, is an error that names it", () => {
  const mutant = { name: "stale", file: "src/x.ts", changes: [["once", ""]] } as const;
  expect(() => mutated("never", mutant)).toThrow('mutant "stale": src/x.ts holds its text 0 times');
  expect(() => mutated("once, once", mutant)).toThrow("2 times");
});

describe("what is typed", () => {
  const wanted = (typed: string) => wantedBy(typed === "" ? [] : typed.split(" "));

  test("says which seeds are played, and by how many", () => {
    const seeds = [5, 6, 7];
    expect(wanted("--from 5 --seeds 3")).toEqual({ kind: "histories", seeds, workers: 2 });
    expect(wanted("")).toMatchObject({ kind: "histories", seeds: { length: 1_000 } });
    expect(wanted("--seed 7")).toEqual({ kind: "one", origin: { seed: 7 }, isTraced: false });
    expect(wanted("--mutants --only repair --workers 1")).toMatchObject({
      mutants: [{ name: "a repair that writes nothing" }],
      seeds: { length: 400 },
      workers: 1,
    });
  });

  test.each([
    ["--seeds abc", "--seeds abc is not a whole number from 1 "],
    ["--seeds 0", "--seeds 0"],
    ["--sed 5", "Unknown option '--sed'"],
    ["--workers 900", "--workers 900 is not a whole number from 1 to 16"],
    ["--mutants --only nosuch", "--only nosuch is in no mutant's name"],
    ["--trace", "--trace needs --seed or --history"],
    ["--history nowhere.json", "nowhere.json cannot be read: ENOENT"],
    ["5", "Unexpected argument '5'"],
  ])("and makes no sense, is named in one line: %s", (typed, complaint) => {
    expect(() => wanted(typed)).toThrow(UsageError);
    expect(() => wanted(typed)).toThrow(complaint);
    expect(() => wanted(typed)).not.toThrow(/\n/);
  });
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
