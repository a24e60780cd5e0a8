import type { Secret } from "../secret.ts";

/** A server's address, or where the embedded one lies. */
export type DatabaseConfig = { readonly url: Secret } | { readonly dataDir: string };

/** Whether the driver can read it as it was meant. */
export function isDatabaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:\/\//.test(text)) return false;
  // A bare / ? or # in a password ends the address there: its user would be taken for the host,
  // and messages would name the rest of the password as the database.
  const { username, hostname, pathname, search, hash } = url;
  return username !== "" || hostname === "" || !`${pathname}${search}${hash}`.includes("@");
}

/** What the driver takes TLS's rules from; uselibpqcompat leaves all of them to libpq's words. */
const tlsWords = ["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert"];

/**
 * The address with `sslmode=verify-full` where it says nothing of TLS and leads to another machine:
 * the driver would send the ledger in the clear.
 * @param variables what the driver takes from the environment.
 */
export function withTlsByDefault(
  text: string,
  variables: { readonly PGHOST: string | undefined; readonly PGSSLMODE: string | undefined },
): string {
  const { hostname, searchParams } = new URL(text);
  const isSaid =
    tlsWords.some((name) => searchParams.get(name)) ||
    searchParams.get("uselibpqcompat") === "true" ||
    searchParams.get("sslnegotiation") === "direct";
  const hosts = searchParams.get("host") || hostname || variables.PGHOST || "";
  if (isSaid || hosts.split(",").every(isThisMachine)) return text;
  const [address = ""] = text.split("#");
  const sslmode = encodeURIComponent(variables.PGSSLMODE ?? "verify-full");
  return `${address}${address.includes("?") ? "&" : "?"}sslmode=${sslmode}`;
}

/** A socket's folder begins with a slash, or %2F; no host at all is the driver's own, this machine. */
const isThisMachine = (host: string): boolean =>
  /^(?:|(?:\/|%2f).*|localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
