import type { Command } from "commander";
import { programOf } from "../../src/commands/program.ts";

const silent = { write: () => true } as unknown as NodeJS.WriteStream;
const nothing = () => {
  throw new Error("nothing is run here");
};

/** The program's commands with their options, none of which is run. */
export const program: Command = await programOf({
  io: { out: silent, err: silent, signal: AbortSignal.abort(), onOutputError: nothing },
  ...{ readEnvironment: nothing, config: nothing, path: nothing },
  runs: () => nothing,
});

/** Each command and each of their parts, such as `keys` and `keys add`. */
export const commandsByName: ReadonlyMap<string, Command> = new Map(
  program.commands.flatMap((command) => [
    [command.name(), command] as const,
    ...command.commands.map((part) => [`${command.name()} ${part.name()}`, part] as const),
  ]),
);
