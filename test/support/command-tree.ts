import type { Command } from "commander";
import { readConfig } from "../../src/accounts/config.ts";
import type { Environment } from "../../src/accounts/settings.ts";
import type { Result } from "../../src/output/result.ts";
import { programOf, wings } from "../../src/program.ts";

const silent = { write: () => true } as unknown as NodeJS.WriteStream;
const nothing = () => {
  throw new Error("nothing is run here");
};

/** The program's commands with their options, none of which is run. */
export const program: Command = await programOf({
  io: { out: silent, err: silent, signal: AbortSignal.abort(), onOutputError: nothing, wings },
  ...{ readEnvironment: nothing, config: nothing },
  runs: () => nothing,
});

/** The result of a command line, before it is printed. */
export async function resultOf(args: readonly string[], environment: Environment): Promise<Result> {
  const { signal } = new AbortController();
  const results: Result[] = [];
  const runnable = await programOf({
    io: { out: silent, err: silent, signal, onOutputError: nothing, isJson: true, wings },
    readEnvironment: () => environment,
    config: (asked) => readConfig(environment, { credentials: false, ...asked }),
    runs:
      (command) =>
      async (...words) => {
        results.push(await command(...words));
      },
  });
  await runnable.parseAsync(args, { from: "user" });
  const [result] = results;
  if (result === undefined) throw new Error(`no result of ${args.join(" ")}`);
  return result;
}

/** Each command and each of their parts, such as `mirror-keys` and `mirror-keys add`. */
export const commandsByName: ReadonlyMap<string, Command> = new Map(
  program.commands.flatMap((command) => [
    [command.name(), command] as const,
    ...command.commands.map((part) => [`${command.name()} ${part.name()}`, part] as const),
  ]),
);
