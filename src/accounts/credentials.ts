import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { z } from "zod";
import { shownCode, UsageError } from "../lib/errors.ts";
import { Secret } from "../lib/secret.ts";
import { readTextFile } from "../lib/text-file.ts";
import type { LookUp } from "./account.ts";

/** An account's credentials, as a file names them. */
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

/** The forms of one credential. */
export const Reference = z.union([
  z.string(),
  z.strictObject({ env: z.string() }),
  z.strictObject({ file: z.string() }),
]);

/** How the three credentials of an account are referred to. */
type Source = Readonly<Record<(typeof credentialKeys)[number], z.infer<typeof Reference>>>;

type SourceDeps = {
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
  () => {
    const read = (name: (typeof credentialKeys)[number]): Secret => {
      const at = `account ${account}: ${name}`;
      return secretOf(textOf(source[name], at, deps), at);
    };
    return { key: read("apiKey"), secret: read("apiSecret"), passphrase: read("apiPassphrase") };
  };

function textOf(
  reference: z.infer<typeof Reference>,
  at: string,
  { folder, variable }: SourceDeps,
): string {
  if (typeof reference === "string") return reference;
  if ("env" in reference) {
    const text = variable(reference.env);
    if (text !== undefined) return text;
    throw new UsageError(
      `${at}: the variable that it names is not set; set it, or correct its name`,
    );
  }
  try {
    return readTextFile(resolve(folder, reference.file)).replace(/\n$/, "");
  } catch (error) {
    // The path is not shown: a secret may have been put where it belongs.
    throw new UsageError(
      `${at}: the file that it names cannot be read (${shownCode(error)}); correct its path, ` +
        `from ${folder} on, or its permissions`,
    );
  }
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
export function envFileExposure(): readonly string[] | undefined {
  const path = ".env";
  if (!existsSync(path)) return undefined;
  const variables = parseEnv(readTextFile(path));
  return [...credentialVariables, "DATABASE_URL"].some((name) => variables[name]?.trim())
    ? exposureOf([path])
    : undefined;
}
