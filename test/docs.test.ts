// All links, commands, options, variables and files in the docs exist; README has at most 100 lines.

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { variableNames } from "../src/accounts/settings.ts";
import { commandNames } from "../src/lib/as-typed.ts";
import { program } from "./support/command-tree.ts";
import { generatedPart, promisesTable, referenceParts, withParts } from "./support/docs-parts.ts";

// The pages are compared with the program, so that none of them names what does not exist.
const textOf = (path: string): string => readFileSync(path, "utf8");
const paths = [...globSync("*.md"), ...globSync("{docs,ops/*}/*.md"), "test/README.md"].toSorted();
const pages = paths.map((path) => ({ path, text: textOf(path) }));

const withoutBlocks = (text: string): string => text.replaceAll(/^```.*?^```/gms, "");
const codeOf = (text: string): readonly string[] => [
  ...[...text.matchAll(/^```\w*\n(.*?)^```/gms)].flatMap(([, block = ""]) => block.split("\n")),
  ...[...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map(([, code = ""]) =>
    code.replaceAll("\n", " "),
  ),
];

const wordsOf = (text: string): number =>
  text.split(/\s+/).filter((word) => /\w/.test(word)).length;

/** Anchors as GitHub generates them. */
const anchorsOf = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

const linksOf = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^https:/.test(target));

test("README.md has at most 100 lines", () => {
  expect(textOf("README.md").split("\n").length - 1).toBeLessThanOrEqual(100);
});

// Code is not counted, nor the list of names.
test("README and docs have at most 14,000 written words, and 5,000 generated ones", () => {
  const counts = { written: 0, generated: 0 };
  for (const { path, text } of pages.filter(({ path }) => /^README|^docs\//.test(path))) {
    const isList = path === "docs/names.md";
    const written = isList ? "" : withoutBlocks(text.replaceAll(generatedPart, ""));
    counts.written += wordsOf(written);
    counts.generated += isList ? 0 : wordsOf(withoutBlocks(text)) - wordsOf(written);
  }
  console.info(`words of README and docs: ${JSON.stringify(counts)}`);
  expect(counts.written).toBeLessThanOrEqual(14_000);
  expect(counts.generated).toBeLessThanOrEqual(5_000);
});

describe("links", () => {
  const links = pages.flatMap(({ path, text }) =>
    linksOf(text).map((target) => {
      const [file = "", anchor] = target.split("#");
      return { from: path, to: file === "" ? path : normalize(join(dirname(path), file)), anchor };
    }),
  );

  test("lead to a file, and to a heading in it", () => {
    expect(links.length).toBeGreaterThan(50);
    const broken = links.filter(({ to, anchor }) => {
      if (!existsSync(to)) return true;
      return anchor !== undefined && !anchorsOf(textOf(to)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test("of README.md lead to every page", () => {
    const led = links.filter(({ from }) => from === "README.md").map(({ to }) => to);
    const own = paths.filter((path) => path !== "README.md");
    expect(own.filter((path) => !led.includes(path))).toEqual([]);
  });
});

test("docs/how-it-works.md says what each folder of src has", () => {
  const [, rooms = ""] = textOf("docs/how-it-works.md").split("\n## The rooms of src\n");
  const told = [...rooms.matchAll(/`src\/([\w-]+)[/`]/g)].map(([, room]) => room);
  const folders = globSync("src/*/").map((path) => path.split("/")[1]);
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.filter((folder) => !told.includes(folder))).toEqual([]);
});

const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
const commandNamed = (within: Command, name: string | undefined): Command | undefined =>
  within.commands.find((command) => command.name() === name);
const longOptions = ({ options }: Command): readonly string[] => [
  "--help",
  ...options.flatMap(({ long }) => long ?? []),
];
const optionsIn = (words: string): readonly string[] =>
  [...words.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option);
/** The files that define the options of scripts that are not commands of the program. */
const parsers: Readonly<Record<string, string>> = {
  simulate: "test/simulation/command-line.ts",
  bench: "bench/bench.ts",
};

/** What is wrong with `NAME WORDS` after npm run or bill-sync. */
function faultsOf(name: string, words: string): readonly string[] {
  const command = commandNamed(program, name);
  const parser = parsers[name];
  if (command !== undefined) {
    const [next] = words
      .replace(/^ *-- /, "")
      .trim()
      .split(" ");
    const part = commandNamed(command, next) ?? command;
    return optionsIn(words).filter((option) => !longOptions(part).includes(option));
  }
  if (scripts[name] === undefined) return ["there is no such command"];
  if (parser === undefined) return [];
  return optionsIn(words).filter(
    (option) => !new RegExp(`\\b${option.slice(2)}\\b`).test(textOf(parser)),
  );
}

describe("commands", () => {
  const behind =
    /(?:npm run (?:--silent )?|npx bill-sync |^bill-sync |^\$ bill-sync |run --rm bill-sync )([a-z-]+)([^|&;>#)]*)/g;
  const shown = pages.flatMap(({ path, text }) =>
    codeOf(text).flatMap((code) => [
      ...[...code.matchAll(behind)].map(([typed, name = "", words = ""]) => ({
        path,
        typed,
        name,
        words,
      })),
      // `verify --repair` within a sentence.
      ...[...code.matchAll(/^([a-z-]+)( --.*)$/g)]
        .filter(([, name]) => commandNamed(program, name) !== undefined)
        .map(([typed, name = "", words = ""]) => ({ path, typed, name, words })),
    ]),
  );

  test("that are shown exist, with their options", () => {
    expect(shown.length).toBeGreaterThan(80);
    const wrong = shown.flatMap(({ path, typed, name, words }) =>
      faultsOf(name, words).map((fault) => ({ path, typed, fault })),
    );
    expect(wrong).toEqual([]);
  });

  test("messages take just the names of commands for commands", () => {
    expect([...commandNames].toSorted()).toEqual(
      program.commands.map((command) => command.name()).toSorted(),
    );
  });

  test("options that stand alone are of some command", () => {
    const known = program.commands.flatMap((command) =>
      [command, ...command.commands].flatMap(longOptions),
    );
    // Commands of npm and options of Node.
    const foreign = ["--ignore-scripts", "--max-old-space-size"];
    const inOthers = Object.values(parsers).map(textOf).join();
    const alone = pages.flatMap(({ path, text }) =>
      codeOf(text)
        .filter((code) => /^--[a-z]/.test(code))
        .flatMap((code) => optionsIn(code).map((option) => ({ path, option }))),
    );
    expect(alone.length).toBeGreaterThan(20);
    const unknown = alone.filter(
      ({ option }) =>
        !(known.includes(option) || foreign.includes(option) || inOthers.includes(option.slice(2))),
    );
    expect(unknown).toEqual([]);
  });
});

describe("variables", () => {
  const names = new Set<string>(variableNames);
  const isOurs = /\b(?:EXCHANGE|ACCOUNTS|PRODUCT|SYNC|RISK|LOG|DATA|DATABASE)_[A-Z_]*[A-Z]\b/g;

  test("that the pages name are ones that the program reads", () => {
    const named = [...pages, { path: ".env.example", text: textOf(".env.example") }].flatMap(
      ({ path, text }) => [...text.matchAll(isOurs)].map(([name]) => ({ path, name })),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ name }) => !names.has(name))).toEqual([]);
  });

  test("are all in .env.example", () => {
    const text = textOf(".env.example");
    expect(variableNames.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });
});

test("docs/reference.md says what the program says (else: npm run docs)", async () => {
  const path = "docs/reference.md";
  await expect(withParts(path, referenceParts(program))).toMatchFileSnapshot(`../${path}`);
});

test("test/README.md says which files hold each promise (else: npm run docs)", async () => {
  const path = "test/README.md";
  await expect(withParts(path, { promises: promisesTable() })).toMatchFileSnapshot(`../${path}`);
});

describe("files", () => {
  test("that the pages name exist", () => {
    const rooms = /^(?:src|test|bench|docs|migrations)\/[\w./*-]+$/;
    const named = pages.flatMap(({ path, text }) =>
      codeOf(text).flatMap((code) => code.split(/\s+/).map((word) => ({ path, word }))),
    );
    const files = named
      .map(({ path, word }) => ({
        path,
        // test/README.md names the tests without their folder.
        file: /^[\w-]+(\.pg)?\.test\.ts$/.test(word) ? `test/${word}` : word,
      }))
      .filter(({ file }) => rooms.test(file) && !/FILE|^bench\/results/.test(file));
    expect(files.length).toBeGreaterThan(60);
    expect(files.filter(({ file }) => globSync(file).length === 0)).toEqual([]);
  });

  test("that the program and its tests name of the pages exist", () => {
    const sources = [
      ...globSync("{src,test,bench}/**/*.{ts,js,sql}"),
      ".env.example",
      "compose.yaml",
    ];
    const named = sources.flatMap((path) =>
      [...textOf(path).matchAll(/\bdocs\/[\w-]+\.md\b/g)].map(([page]) => ({ path, page })),
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ page }) => !existsSync(page))).toEqual([]);
  });
});
