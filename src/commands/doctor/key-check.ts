import type { ProductType } from "../../contract/product-types.ts";
import type { ExchangeError } from "../../errors.ts";
import { printableLine } from "../../printable.ts";
import type { AccountMode } from "../../sync/account-state.ts";
import type { Check } from "./check.ts";

/** The result of trying an account's key. */
export type TriedKey = {
  readonly mode: AccountMode;
  /**
   * Whether the configuration names no product type: a type that the key may not read is then no
   * failure.
   */
  readonly readsAll: boolean;
  readonly read: readonly ProductType[];
  readonly refused: ReadonlyMap<ProductType, ExchangeError>;
  /** What the exchange says about the key; undefined if it says nothing. */
  readonly rights?: KeyRights | undefined;
  /** The account's user id, as it is configured and as the exchange tells it. */
  readonly uid?: { readonly configured: string | undefined; readonly told: string | undefined };
};

/** What a key may do, in the exchange's own words. */
export type KeyRights = {
  readonly permType: string | null;
  readonly permissions: readonly string[];
  readonly ips: readonly string[];
};

/** The check of an account's key. Product types with equal refusals are named together. */
export function keyCheck(account: string, tried: TriedKey): Check {
  const { mode, readsAll, read, refused, rights, uid } = tried;
  const name = `account ${account}`;
  const able = read.length === 0 ? "reads no bills" : `reads bills of ${listed(read)}`;
  const alike = Map.groupBy(refused, ([, { message }]) => message);
  const refusals = [...alike].map(
    ([message, types]) => `${listed(types.map(([type]) => type))}: ${message}`,
  );
  const found = `a ${mode} account; its key ${able}`;
  if (refusals.length > 0 && (read.length === 0 || !readsAll)) {
    return { status: "FAIL", name, found: `${found}; refused: ${refusals.join("; ")}` };
  }
  const parts = [found, ...refusals.map((text) => `not available to it: ${text}`)];
  const remedies: string[] = [];
  if (rights === undefined) parts.push(notTold);
  else {
    parts.push(rightsText(rights), addressText(rights));
    if (!readsOnly(rights)) remedies.push("make a key that may only read: bill-sync needs no more");
  }
  if (uid?.configured !== undefined && uid.told !== undefined && uid.configured !== uid.told) {
    parts.push(
      `its uid is configured as ${uid.configured}, and the exchange says ${printableLine(uid.told)}`,
    );
    remedies.push("correct its uid, by which accounts of one user take turns");
  }
  if (remedies.length === 0) return { status: "ok", name, found: parts.join("; ") };
  return { status: "warn", name, found: parts.join("; "), remedy: remedies.join("; ") };
}

const notTold =
  "the exchange did not tell whether it may do more than read, nor its IP addresses: see the key on its site";

/**
 * Whether a key can only read. `read-only` and `read_and_write` were both seen with either
 * separator.
 */
const readsOnly = ({ permType, permissions }: KeyRights): boolean =>
  permType === null
    ? !permissions.some((one) => /trade|transfer|withdraw/i.test(one))
    : /^read[-_ ]?only$/i.test(permType);

function rightsText(rights: KeyRights): string {
  if (readsOnly(rights)) return "it may only read";
  const words = rights.permissions.map(printableLine);
  return `it may do more than read${words.length === 0 ? "" : `, in ${listed(words)}`}`;
}

const addressText = ({ ips: { length } }: KeyRights): string =>
  length === 0
    ? "it is bound to no IP address"
    : `it is bound to ${length} IP address${length === 1 ? "" : "es"}`;

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
