import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { codeOf, UsageError } from "../errors.ts";
import type { Credentials } from "../exchange/client.ts";
import { Secret } from "../secret.ts";
import { outputOf } from "./credential-command.ts";
import { credentialKeys, credentialOrigin, fitsHeader, headerFault } from "./environment.ts";

type CredentialKey = (typeof credentialKeys)[number];

const word = z.string().min(1);
const command = z.tuple([word], z.string());

/** What may stand for one credential, beside the text itself. */
const Reference = z.union([
  z.strictObject({ env: z.string() }),
  z.strictObject({ file: z.string() }),
  z.strictObject({ command }),
]);
type Reference = z.infer<typeof Reference>;

/** What may stand for an account's three credentials. */
const CredentialSource = z.union([
  z.strictObject({ command }),
  z.strictObject({ directory: word }),
]);
type Given = Readonly<Record<CredentialKey, string | Reference>>;

export type LookUpDeps = {
  /** Paths are from here on. */
  readonly folder: string;
  readonly variable: (name: string) => string | undefined;
};

/**
 * The credentials of an account, from a place for all three of them or from one for each.
 * @param place as it stands in the file, checked already.
 * @throws UsageError that names the account and quotes nothing of what it read.
 */
export async function lookUpCredentials(
  account: string,
  place: unknown,
  deps: LookUpDeps,
  signal: AbortSignal,
): Promise<Credentials> {
  const source = CredentialSource.safeParse(place).data;
  if (source === undefined) return credentialsOf(account, Written.parse(place), { deps, signal });
  if ("directory" in source) {
    const path = join(resolve(deps.folder, source.directory), `${account}.json`);
    return lookUpInFile(account, path, deps, signal);
  }
  const text = await outputOf(account, commandOf(account, source), { signal });
  const given = written(account, "what its command writes", text);
  return credentialsOf(account, given, { deps, signal });
}

const commandOf = (account: string, { command }: { readonly command: readonly string[] }) =>
  command.map((part) => part.replaceAll("{account}", account));

/** The credentials of a file that holds one account; its other keys are not looked at. */
export async function lookUpInFile(
  account: string,
  path: string,
  { variable }: Pick<LookUpDeps, "variable">,
  signal: AbortSignal,
): Promise<Credentials> {
  const text = await textOf(account, path);
  const deps = { folder: dirname(path), variable };
  const fields = parsed(text);
  const source = Own.safeParse(fields);
  if (source.success) return lookUpCredentials(account, source.data.credentials, deps, signal);
  return credentialsOf(account, written(account, path, text), { deps, signal });
}

const Own = z.looseObject({ credentials: z.strictObject({ command }) });
const value = z.union([z.string(), Reference]);
const Written = z.looseObject({ apiKey: value, apiSecret: value, apiPassphrase: value });

/** What zod would say of it may quote a secret. */
function written(account: string, where: string, text: string): Given {
  const { data } = Written.safeParse(parsed(text));
  if (data !== undefined) return data;
  throw new UsageError(
    `account ${account}: ${where} is not JSON with ${credentialKeys.map((key) => `"${key}"`).join(", ")}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

type Resolving = { readonly deps: LookUpDeps; readonly signal: AbortSignal };

async function credentialsOf(
  account: string,
  given: Given,
  resolving: Resolving,
): Promise<Credentials> {
  const [key, secret, passphrase] = await Promise.all(
    credentialKeys.map(async (name) => {
      const text = await resolved(account, name, given[name], resolving);
      if (text === "") {
        throw new UsageError(`account ${account}: ${name} is empty; ${credentialOrigin}`);
      }
      if (!fitsHeader(text)) throw new UsageError(`account ${account}: ${name} ${headerFault}`);
      return new Secret(text);
    }),
  );
  const none = new Secret("");
  return { key: key ?? none, secret: secret ?? none, passphrase: passphrase ?? none };
}

async function resolved(
  account: string,
  name: CredentialKey,
  reference: string | Reference,
  { deps: { folder, variable }, signal }: Resolving,
): Promise<string> {
  if (typeof reference === "string") return reference;
  if ("command" in reference) {
    return withoutLineEnd(await outputOf(account, commandOf(account, reference), { signal }));
  }
  if ("file" in reference) {
    // The path is not shown: a secret may have been put where it belongs.
    const path = resolve(folder, reference.file);
    return withoutLineEnd(await textOf(account, path, `the file that ${name} names`));
  }
  const text = variable(reference.env);
  if (text !== undefined) return text;
  throw new UsageError(
    `account ${account}: the variable that ${name} names is not set; set it, or correct its name`,
  );
}

const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, "");

async function textOf(account: string, path: string, shown = path): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(
      `account ${account}: ${shown} cannot be read (${codeOf(error)}); correct its path or its ` +
        "permissions",
    );
  }
}
