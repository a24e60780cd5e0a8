import { contracts, readContract } from "../contract/contracts.ts";
import type { ContractProductType } from "../contract/product-types.ts";
import { type ListDeps, type ListReport, readList, syncList } from "./settings-lists.ts";
import type { CommitContracts } from "./store.ts";

export type ContractsDeps = ListDeps & { readonly commitContracts: CommitContracts };

/** What came of one product type's contracts in one run. */
export type ContractsReport = ListReport & { readonly productType: ContractProductType };

/**
 * Brings the settings of all contracts of these product types up to now, one request each. Never
 * throws: what failed is in the reports.
 */
export const syncContracts = (
  { commitContracts, ...deps }: ContractsDeps,
  productTypes: readonly ContractProductType[],
): Promise<readonly ContractsReport[]> =>
  Promise.all(
    productTypes.map(async (productType) => ({
      productType,
      ...(await syncList(
        deps,
        { operation: contracts, query: { productType } },
        readContract,
        (list) => commitContracts({ ...list, productType }),
      )),
    })),
  );

/** Sorts a list's rows into those that can be stored and those that cannot. */
export const readContractList = (rows: readonly unknown[]) => readList(rows, readContract);
