import type { Command } from "commander";
import type { Environment } from "../accounts/settings.ts";
import { UsageError } from "../lib/errors.ts";

/** How an option is typed where npm runs the program. */
export const npmHint = ({ npm_lifecycle_event: name = "" }: Environment): string =>
  `; options come after two dashes: npm run ${name} -- --help`;

/**
 * npm keeps an option before two dashes for itself, in silence: `npm run sync --dry-run` would really sync.
 * @throws UsageError that says what to type.
 */
export function refuseSwallowed(
  program: Command,
  args: readonly string[],
  npm: Environment | undefined,
) {
  if (npm === undefined) return;
  const [command, part] = typedCommand(program, args);
  if (command === undefined) return;
  const names = args.slice(0, part === undefined ? 1 : 2);
  const rest = args.slice(names.length);
  const swallowed = (part ?? command).options.flatMap(({ long, required }) => {
    const value = npm[`npm_config_${long?.slice(2).replaceAll("-", "_")}`];
    if (!long || !value || args.includes(long)) return [];
    if (value !== "true") return [`${long} ${value}`];
    // npm takes the option alone, and passes its value on as the first word.
    return [[long, ...(required ? rest.splice(0, 1) : [])].join(" ")];
  });
  if (swallowed.length === 0) return;
  const [name = "", ...parts] = names;
  const words = [...parts, ...swallowed, ...rest].join(" ");
  throw new UsageError(
    `npm keeps ${swallowed.join(" ")} for itself: type npm run ${name} -- ${words}`,
  );
}

function typedCommand(program: Command, [name, part]: readonly string[]) {
  const command = program.commands.find((one) => one.name() === name);
  return [command, command?.commands.find((one) => one.name() === part)] as const;
}
