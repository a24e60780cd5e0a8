import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { shownCode, UsageError } from "../errors.ts";
import type { Credentials } from "../exchange/client.ts";
import { Secret } from "../secret.ts";
import { isObject } from "./account-fields.ts";
import { outputOf } from "./credential-command.ts";
import { type CredentialKey, isReference, isSource, type Reference } from "./credential-forms.ts";
import { credentialKeys, credentialOrigin, fitsHeader, headerFault } from "./environment.ts";

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
  if (!isSource(place)) {
    return credentialsOf(account, written(account, "its entry", place), { deps, signal });
  }
  if ("directory" in place) {
    const path = join(resolve(deps.folder, place.directory), `${account}.json`);
    return lookUpInFile(account, path, deps, signal);
  }
  const text = await outputOf(account, commandOf(account, place), { signal });
  const given = written(account, "what its command writes", parsed(text));
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
  const source = isObject(fields) ? fields["credentials"] : undefined;
  if (isSource(source) && "command" in source)
    return lookUpCredentials(account, source, deps, signal);
  return credentialsOf(account, written(account, path, fields), { deps, signal });
}

/** @throws UsageError, which quotes nothing of what was found: it may be a secret. */
function written(account: string, where: string, found: unknown): Given {
  if (isGiven(found)) return found;
  throw new UsageError(
    `account ${account}: ${where} is not JSON with ${credentialKeys.map((key) => `"${key}"`).join(", ")}`,
  );
}

const isGiven = (found: unknown): found is Given =>
  isObject(found) &&
  credentialKeys.every((key) => typeof found[key] === "string" || isReference(found[key]));

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
      `account ${account}: ${shown} cannot be read (${shownCode(error)}); correct its path or its ` +
        "permissions",
    );
  }
}
