import { contracts, readContract } from "../contract/contracts.ts";
import type { ContractProductType } from "../contract/product-types.ts";
import { type ListDeps, type ListReport, syncList } from "./settings-lists.ts";
import type { CommitContracts } from "./store.ts";

export type ContractsDeps = ListDeps & { readonly commitContracts: CommitContracts };

/** The result of syncing one product type's contracts. */
export type ContractsReport = ListReport & { readonly productType: ContractProductType };

/**
 * Syncs the settings of all contracts of these product types, with one request per product type. Never
 * throws: failures are in the reports.
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
