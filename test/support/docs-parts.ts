import { readFileSync } from "node:fs";

/** A part of a page that `npm run docs` writes, and its name. */
export const generatedPart = /^<!-- generated: (\w+) -->$.*?^<!-- end -->$/gms;

/** A page whose parts between `<!-- generated: NAME -->` and `<!-- end -->` are replaced by these texts. */
export function withParts(path: string, parts: Readonly<Record<string, string>>): string {
  const names: string[] = [];
  const text = readFileSync(path, "utf8").replaceAll(generatedPart, (_, name: string) => {
    names.push(name);
    return `<!-- generated: ${name} -->\n\n${parts[name]}\n\n<!-- end -->`;
  });
  const expected = Object.keys(parts).toSorted().join();
  if (names.toSorted().join() !== expected)
    throw new Error(`${path} has not the parts ${expected}`);
  return text;
}
