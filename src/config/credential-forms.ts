import { isObject } from "./account-fields.ts";
import type { credentialKeys } from "./environment.ts";

/*
 * What may stand for credentials in a file of accounts. The checks are written by hand: every command reads the
 * configuration, and zod would be loaded for it, even for help.
 */

/** A program and its arguments. */
type Command = readonly [string, ...(readonly string[])];

/** What may stand for one credential, beside the text itself. */
export type Reference =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: Command };

/** What may stand for an account's three credentials. */
export type CredentialSource = { readonly command: Command } | { readonly directory: string };

export type CredentialKey = (typeof credentialKeys)[number];

export function isReference(value: unknown): value is Reference {
  const [kind, given] = onlyEntry(value);
  if (kind === "command") return isCommand(given);
  return (kind === "env" || kind === "file") && typeof given === "string";
}

export function isSource(value: unknown): value is CredentialSource {
  const [kind, given] = onlyEntry(value);
  return kind === "command" ? isCommand(given) : kind === "directory" && isWord(given);
}

/** Of an object with one key; of anything else nothing. */
function onlyEntry(value: unknown): readonly [string, unknown] | readonly [] {
  const [entry = [], ...others] = isObject(value) ? Object.entries(value) : [];
  return others.length === 0 ? entry : [];
}

const isCommand = (value: unknown): value is Command =>
  Array.isArray(value) && isWord(value[0]) && value.every((part) => typeof part === "string");

const isWord = (value: unknown): value is string => typeof value === "string" && value !== "";
