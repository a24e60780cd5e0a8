import { existsSync, readFileSync, statSync } from "node:fs";
import { parseEnv } from "node:util";

const isExposed = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;

/** One warning about the files of a directory that {@link exposureOf} would warn of; none if there is no such file. */
export function exposedAmong(directory: string, paths: readonly string[]): readonly string[] {
  const exposed = paths.filter(isExposed).length;
  if (exposed === 0) return [];
  return [
    `${exposed} of the files in ${directory} hold credentials, and other users may read or change ` +
      `them; run chmod 600 ${directory}/*.json, or mount them with defaultMode 0400`,
  ];
}

/** A warning about a file with credentials that other users may read or write; none if they may not. */
export function exposureOf(path: string): readonly string[] {
  return !isExposed(path)
    ? []
    : [`${path} holds credentials, and other users may read or change it; run chmod 600 ${path}`];
}

const credentialNames = [
  "EXCHANGE_API_KEY",
  "EXCHANGE_API_SECRET",
  "EXCHANGE_API_PASSPHRASE",
  "DATABASE_URL",
];

/** The same of the file `.env`; undefined where there is none, or it holds no credential. */
export function envFileExposure(path = ".env"): readonly string[] | undefined {
  if (!existsSync(path)) return undefined;
  const set = parseEnv(readFileSync(path, "utf8"));
  return credentialNames.some((name) => set[name]?.trim()) ? exposureOf(path) : undefined;
}
