// Npm run simulate: what is typed, histories from files, shrinking, a stop that leaves nothing behind.

import { readFileSync, rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { UsageError } from "../src/errors.ts";
import { wantedBy } from "./simulation/command-line.ts";
import { drawHistory, exchangeKinds } from "./simulation/draw.ts";
import type { History } from "./simulation/history.ts";
import { mutants, mutated } from "./simulation/mutants.ts";
import { shrink } from "./simulation/shrink.ts";
import { readable, saveShrunk } from "./simulation/trace.ts";

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

test("shrinking leaves what the failure needs, and nothing else", async () => {
  const needsKill = (candidate: History) =>
    Promise.resolve(
      candidate.steps.some(({ process }) => process.some(({ kind }) => kind === "kill")),
    );
  const seed = Array.from({ length: 100 }, (_, index) => index).find((index) =>
    drawHistory(index).steps.some(({ process }) => process.some(({ kind }) => kind === "kill")),
  );
  const smallest = await shrink(drawHistory(seed ?? 0), needsKill);
  expect(smallest.steps.length).toBe(1);
  expect(smallest.steps[0]).toMatchObject({ recent: [], exchange: [], database: [], aheadMs: 0 });
  expect(smallest.steps[0]?.process.length).toBe(1);
  expect(smallest.ledger.productTypes.length).toBe(1);
  expect(smallest.exchange).toMatchObject({ quirks: {}, pastHorizon: "trim", jitterMs: 0 });
});

test("shrinking takes away bursts, broken rows, a ledger's future, and faults within a verification", async () => {
  const base = drawHistory(0);
  const verify = { kind: "verify", at: 9, days: 1 } as const;
  const [kill, stop] = [{ kind: "kill", at: 3 } as const, { kind: "stop", at: 4 } as const];
  const [step] = base.steps;
  if (step === undefined) throw new Error("seed 0 has no step");
  const grown: History = {
    ...base,
    ledger: {
      ...base.ledger,
      bursts: [10, 20, 30].map((bills) => ({ atMs: 0, bills })),
      brokenRows: 4,
    },
    steps: [...base.steps, { ...step, process: [kill, { ...verify, process: [kill, stop] }] }],
  };
  const smallest = await shrink(grown, async ({ steps, ledger }) => {
    const faults = steps.flatMap(({ process }) => process);
    const within = faults.flatMap((fault) => (fault.kind === "verify" ? fault.process : []));
    return (
      within.some(({ kind }) => kind === "stop") && ledger.bursts.some(({ bills }) => bills === 20)
    );
  });
  expect(smallest.steps.map(({ process }) => process)).toEqual([[{ ...verify, process: [stop] }]]);
  const { bursts, brokenRows, futureDays } = smallest.ledger;
  expect({ bursts, brokenRows, futureDays }).toEqual({
    bursts: [{ atMs: 0, bills: 20 }],
    brokenRows: 0,
    futureDays: 0,
  });
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

test("a trace has its times as ISO 8601, and its numbers as they are", () => {
  expect(
    readable('1777593598765.25 asks ?endTime=1775001601348 {"billId":"1433895711384010752"}'),
  ).toBe(
    '2026-04-30T23:59:58.765Z asks ?endTime=2026-04-01T00:00:01.348Z {"billId":"1433895711384010752"}',
  );
});
