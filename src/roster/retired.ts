import { type Retirement, retiredSince } from "../db/accounts/retirement.ts";
import type { Account } from "./account.ts";
import type { Config } from "./config.ts";

/**
 * The configuration without retired parts, and a line for each account that is configured but
 * retired.
 */
export function withoutRetired(
  config: Config,
  retirements: readonly Retirement[],
): { readonly config: Config; readonly notices: readonly string[] } {
  const kept = config.accounts.map((account) => withoutRetiredParts(account, retirements));
  const notices = config.accounts.flatMap(({ name, productTypes, readsAll = false }, index) => {
    const wanted = kept[index]?.productTypes ?? [];
    const left = productTypes.filter((type) => !wanted.includes(type));
    if (left.length === 0) return [];
    const isAll = readsAll && wanted.length === 0;
    return [
      `${name}: ${isAll ? "every product type" : left.join(", ")} configured but retired, so not read; to read again: ` +
        `bill-sync accounts unretire ${name}`,
    ];
  });
  const isLeft = ({ productTypes, ltv = false }: Account) => productTypes.length > 0 || ltv;
  // An account that was configured without anything to read stays.
  const accounts = kept.filter((one, at) => isLeft(one) || one === config.accounts[at]);
  return { config: { ...config, accounts }, notices };
}

function withoutRetiredParts(account: Account, retirements: readonly Retirement[]): Account {
  const { name } = account;
  const own = retirements.filter((one) => one.account === name);
  if (own.length === 0) return account;
  const isWhole = own.some(({ productType }) => productType === undefined);
  return {
    ...account,
    productTypes: account.productTypes.filter(
      (productType) => retiredSince(own, { account: name, productType }) === undefined,
    ),
    ltv: account.ltv === true && !isWhole,
  };
}
