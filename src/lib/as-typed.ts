/** What a user types after bill-sync. Other words after it are prose. */
export const commandNames = [
  ...[
    "demo",
    "doctor",
    "sync",
    "status",
    "verify",
    "reconcile",
    "breaks",
    "export",
    "report",
    "serve",
  ],
  ...["accounts", "mirror-keys", "types", "db", "worker", "sandbox"],
] as const;

const command = new RegExp(
  `\\bbill-sync (${commandNames.join("|")})\\b( (?:[^;:,<\\n]|,(?! ))*)?`,
  "g",
);

/**
 * Commands in a text, which are written "bill-sync sync --json", as the user types them. Whatever a person reads goes
 * through it: results, messages, logs and the page.
 * @param npm the environment, if npm runs the program.
 */
export const asTyped = ({ npm }: { readonly npm?: object | undefined }, text: string): string =>
  npm !== undefined
    ? text.replaceAll(
        command,
        (_, name: string, rest = "") =>
          `npm run ${name}${/ --[a-z]/.test(rest) ? " --" : ""}${rest}`,
      )
    : text;
