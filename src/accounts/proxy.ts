import { Secret } from "../lib/secret.ts";

/** The proxy's address as it is written, which may lack its scheme; undefined where it is none. */
export function proxyAddress(text: string): URL | undefined {
  const url = URL.parse(/^[a-z\d+.-]+:\/\//i.test(text) ? text : `http://${text}`);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== "" ? url : undefined;
}

/** Whether NO_PROXY names a host, or a domain that it is of, or `*`; an entry with a port is for that port. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const own = port || (protocol === "https:" ? "443" : "80");
  return list.split(/[\s,]+/).some((entry) => {
    const [, name = "", only = own] =
      /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (name === "" || only !== own) return false;
    return name === "*" || hostname === name || hostname.endsWith(`.${name}`);
  });
}

/** The proxy through which an address is reached; undefined where none is. Nothing else goes through one. */
export function proxyFor(
  address: URL,
  {
    HTTPS_PROXY: proxy,
    NO_PROXY: exempt = "",
  }: { HTTPS_PROXY?: URL | undefined; NO_PROXY?: string | undefined },
): Secret | undefined {
  const isUsed = proxy !== undefined && address.protocol === "https:" && !isExempt(address, exempt);
  return isUsed ? new Secret(proxy.href) : undefined;
}
