import { readFileSync } from "node:fs";

/** The files of ops/systemd. */
export const unitNames: readonly string[] = [
  "bill-sync-worker.service",
  "bill-sync-worker@.service",
];

export const unitText = (name: string): string => readFileSync(`ops/systemd/${name}`, "utf8");

/** What a unit runs: the program with the flags of package.json, the command, and its arguments. */
export function unitCommand(name: string): {
  readonly script: string;
  readonly args: readonly string[];
} {
  const pattern = /^ExecStart=\/usr\/bin\/(node .* src\/bin\.js) (.*)$/m;
  const [, program = "", words = ""] = pattern.exec(unitText(name)) ?? [];
  const args = words.replace("%i", "127.0.0.1").split(" ");
  return { script: `${program} ${args[0]}`, args };
}
