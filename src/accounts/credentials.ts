import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { z } from "zod";
import { shownCode, UsageError } from "../lib/errors.ts";
import { printableLine } from "../lib/printable.ts";
import { Secret } from "../lib/secret.ts";
import { secondMs } from "../lib/time.ts";
import type { LookUp } from "./account.ts";

/** An account's credentials, as a file or a command names them. */
export const credentialKeys = ["apiKey", "apiSecret", "apiPassphrase"] as const;
/** The same in the variables of a single account. */
export const credentialVariables = [
  "EXCHANGE_API_KEY",
  "EXCHANGE_API_SECRET",
  "EXCHANGE_API_PASSPHRASE",
] as const;
export const credentialOrigin = "the exchange gives it when you create an API key";
export const headerFault = "holds a character that no header can carry; copy it again";
export const fitsHeader = (credential: string): boolean => /^[\x20-\x7e]+$/.test(credential);

/** A program and its arguments. */
export const CommandSource = z.strictObject({
  command: z.tuple([z.string().min(1)], z.string()).readonly(),
});
/** The forms of one credential. */
export const Reference = z.union([
  z.string(),
  z.strictObject({ env: z.string() }),
  z.strictObject({ file: z.string() }),
  CommandSource,
]);
export const ThreeKeys = z.object({
  apiKey: Reference,
  apiSecret: Reference,
  apiPassphrase: Reference,
});
export type Source = z.infer<typeof ThreeKeys | typeof CommandSource>;

export type SourceDeps = {
  /** Paths are relative to this folder. */
  readonly folder: string;
  readonly variable: (name: string) => string | undefined;
};

function secretOf(text: string, at: string): Secret {
  if (text === "") throw new UsageError(`${at} is empty; ${credentialOrigin}`);
  if (!fitsHeader(text)) throw new UsageError(`${at} ${headerFault}`);
  return new Secret(text);
}

/** How an account's three credentials are looked up, which quotes nothing of what was read. */
export const lookUpOf =
  (account: string, source: Source, deps: SourceDeps): LookUp =>
  async (signal) => {
    const run = async ({ command }: z.infer<typeof CommandSource>) =>
      outputOf(
        account,
        command.map((part) => part.replaceAll("{account}", account)),
        { signal },
      );
    if ("command" in source) {
      const keys = threeKeysIn(await run(source));
      if (keys !== undefined) return lookUpOf(account, keys, deps)(signal);
      throw new UsageError(
        `account ${account}: what its command writes is not JSON with ${credentialKeys.map((key) => `"${key}"`).join(", ")}`,
      );
    }
    const textOf = async (reference: z.infer<typeof Reference>, at: string): Promise<string> => {
      if (typeof reference === "string") return reference;
      if ("command" in reference) return withoutLineEnd(await run(reference));
      if ("env" in reference) {
        const text = deps.variable(reference.env);
        if (text !== undefined) return text;
        throw new UsageError(
          `${at}: the variable that it names is not set; set it, or correct its name`,
        );
      }
      try {
        return withoutLineEnd(readFileSync(resolve(deps.folder, reference.file), "utf8"));
      } catch (error) {
        // The path is not shown: a secret may have been put where it belongs.
        throw new UsageError(
          `${at}: the file that it names cannot be read (${shownCode(error)}); correct its path, ` +
            `from ${deps.folder} on, or its permissions`,
        );
      }
    };
    const read = async (name: (typeof credentialKeys)[number]): Promise<Secret> => {
      const at = `account ${account}: ${name}`;
      return secretOf(await textOf(source[name], at), at);
    };
    const [key, secret, passphrase] = await Promise.all([
      read("apiKey"),
      read("apiSecret"),
      read("apiPassphrase"),
    ]);
    return { key, secret, passphrase };
  };

/** Undefined for a text that is not JSON with the three of them. */
function threeKeysIn(text: string) {
  try {
    return ThreeKeys.safeParse(JSON.parse(text.replace(/^\ufeff/, ""))).data;
  } catch {
    return undefined;
  }
}

const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, "");

const commandMaxMs = 30 * secondMs;
/** Three credentials are some hundred bytes. */
const outputMaxBytes = 64 * 1024;

/**
 * Runs a program without a shell, and gives back what it wrote to standard output. What it wrote is in
 * no error: it may hold a secret.
 *
 * @param command the program and its arguments.
 * @throws UsageError that names the account and the program, and what became of it.
 */
export async function outputOf(
  account: string,
  command: readonly string[],
  { signal, maxMs = commandMaxMs }: { readonly signal: AbortSignal; readonly maxMs?: number },
): Promise<string> {
  const [program = "", ...args] = command;
  const failed = (what: string) =>
    new UsageError(
      `account ${account}: the command ${printableLine(program)}, which prints its credentials, ` +
        `${what}; ` +
        "run it by hand to see its output, which is not shown here because it may hold a secret",
    );
  // What is no program may be a secret that was put where one belongs.
  const notStarted = (error: unknown) =>
    new UsageError(
      `account ${account}: the command that prints its credentials cannot be started ` +
        `(${shownCode(error)}); correct its first word, which is a program's name or path`,
    );
  signal.throwIfAborted();
  // A group of its own, so that what a script started ends with it.
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"], detached: true });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
    // A process that left the group may still hold the pipe.
    child.stdout.destroy();
  };
  const late = AbortSignal.timeout(maxMs);
  const stop = AbortSignal.any([signal, late]);
  stop.addEventListener("abort", kill);
  const parts: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes > outputMaxBytes) kill();
    else parts.push(part);
  });
  const [code, killedBy] = await once(child, "close").catch((error: unknown) => {
    throw notStarted(error);
  });
  stop.removeEventListener("abort", kill);
  signal.throwIfAborted();
  if (late.aborted) throw failed(`did not end within ${maxMs / secondMs} s`);
  if (bytes > outputMaxBytes) throw failed(`wrote more than ${outputMaxBytes} bytes`);
  if (code !== 0) throw failed(`ended with ${killedBy ?? `code ${code}`}`);
  return Buffer.concat(parts).toString("utf8");
}

/** A warning about those of these files with credentials that other users may read or write. */
export function exposureOf(paths: readonly string[]): readonly string[] {
  const [first, ...others] = paths.filter(
    (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
  );
  if (first === undefined) return [];
  const isOne = others.length === 0;
  return [
    `${first} ${isOne ? "holds" : `and ${others.length} more hold`} credentials, and other users may read or ` +
      `change ${isOne ? "it" : "them"}; run chmod 600 ${isOne ? first : `${dirname(first)}/*.json`}`,
  ];
}

/** The same of the file `.env`; undefined where there is none, or it holds no credential. */
export function envFileExposure(path = ".env"): readonly string[] | undefined {
  if (!existsSync(path)) return undefined;
  const variables = parseEnv(readFileSync(path, "utf8"));
  return [...credentialVariables, "DATABASE_URL"].some((name) => variables[name]?.trim())
    ? exposureOf([path])
    : undefined;
}
