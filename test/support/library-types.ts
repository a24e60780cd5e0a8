import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "vitest/node";

type Node = { readonly type: string; readonly name?: string } & Readonly<Record<string, unknown>>;
/** A name in a file. */
type Place = { readonly name: string; readonly path: string };

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;
const nodes = (value: unknown): readonly Node[] => [value].flat().filter(isNode);
const nameOf = (value: unknown): string => nodes(value)[0]?.name ?? "";
const memberTypes = ["TSPropertySignature", "TSMethodSignature", "PropertyDefinition"];

/** The members of each type that a file exports, with those of all types that it is made of. */
export const libraryTypes = (path: string): readonly (readonly [string, readonly string[]])[] =>
  namesIn(path).exported.map((name) => [name, membersOf({ name, path })]);

function membersOf(root: Place): readonly string[] {
  const members = new Set<string>();
  const visited = new Set<Node>();
  const visit = ({ name, path }: Place): void => {
    const { declared, imports } = namesIn(path);
    const [node, origin] = [declared.get(name), imports.get(name)];
    if (origin !== undefined) visit(origin);
    if (node !== undefined) collect(node, path);
  };
  const collect = (node: Node, path: string): void => {
    if (visited.has(node)) return;
    visited.add(node);
    if (memberTypes.includes(node.type)) members.add(nameOf(node["key"]));
    if (node.type === "TSTypeReference") visit({ name: nameOf(node["typeName"]), path });
    // A member of another type, as Result["exit"], is none of its members; a function's types are exported apart.
    if (["TSIndexedAccessType", "FunctionDeclaration"].includes(node.type)) return;
    for (const child of Object.values(node).flatMap(nodes)) collect(child, path);
  };
  visit(root);
  // The brand of a number.
  members.delete("__unit");
  return [...members];
}

const files = new Map<string, ReturnType<typeof readNames>>();
function namesIn(path: string) {
  const names = files.get(path) ?? readNames(path);
  files.set(path, names);
  return names;
}

/** What a file declares, imports and exports, by name. */
function readNames(path: string) {
  const declared = new Map<string, Node>();
  const imports = new Map<string, Place>();
  const exported: string[] = [];
  for (const statement of nodes(parseAst(readFileSync(path, "utf8"), { lang: "ts" }).body)) {
    const { source, specifiers, declaration = statement } = statement;
    const from = isNode(source) ? join(dirname(path), String(source["value"])) : undefined;
    for (const specifier of nodes(specifiers)) {
      const { imported = specifier["local"], local, exported: as } = specifier;
      if (as !== undefined) exported.push(nameOf(local));
      if (from?.endsWith(".ts")) imports.set(nameOf(local), { name: nameOf(imported), path: from });
    }
    for (const node of nodes(declaration)) {
      declared.set(nameOf(node["id"]), node);
      if (node !== statement) exported.push(nameOf(node["id"]));
    }
  }
  return { declared, imports, exported };
}
