import { keyInfo } from "../../src/core/contract/key-info.ts";
import type { ProductType, Wallet } from "../../src/core/contract/product-types.ts";
import type { Refusal } from "../../src/core/server/answer.ts";
import type { Answer } from "../../src/wings/sandbox/exchange/api.ts";
import type { Credential, WireAccountMode } from "../../src/wings/sandbox/exchange/credential.ts";
import type { Source } from "../../src/wings/sandbox/exchange/source.ts";

/** What an exchange may permit an account, and how it refuses the rest. */
export type OddCredential = Omit<Credential, "accountMode"> & {
  readonly accountMode: WireAccountMode | (() => WireAccountMode);
  /** The code with which v2 refuses an account that is not classic. Default 40085. */
  readonly unifiedRefusal?: "40085" | "40731";
  /** The code with which v3 refuses an account that is not unified. Default 40084. */
  readonly classicRefusal?: "40084" | "25245";
  /** Product types that are refused to this key, with the refusal. */
  readonly refused?: ReadonlyMap<ProductType | Wallet, Refusal>;
  /** Fields of account info that are added to, or replace, those that follow from the above. */
  readonly info?: Readonly<Record<string, unknown>>;
};

/** The credential as it is at the moment. */
export const atOnce = ({ accountMode, ...credential }: OddCredential): Credential => ({
  ...credential,
  accountMode: typeof accountMode === "function" ? accountMode() : accountMode,
});

/** A source that refuses product types to some accounts. */
export function refusing(source: Source, credentials: readonly OddCredential[]): Source {
  const refusalOf = (name: string, wallet: ProductType | Wallet) =>
    credentials.find((one) => one.name === name)?.refused?.get(wallet);
  return {
    ...source,
    bills: async (request) =>
      refusalOf(request.caller.name, request.productType) ?? source.bills(request),
    balances: async (request) =>
      refusalOf(request.caller.name, request.wallet) ?? source.balances(request),
  };
}

const infoPaths = Object.values(keyInfo).map(({ path }) => path);

/** An API that words its refusals, and what it says of a key, as the credentials want it. */
export const worded =
  (answer: Answer, credentialOf: (apiKey: string) => OddCredential | undefined): Answer =>
  async (request) => {
    const answered = answer(request);
    const { info, unifiedRefusal, classicRefusal } =
      credentialOf(request.headers["access-key"] ?? "") ?? {};
    const given = await answered;
    const codes: Record<string, string | undefined> = {
      "40085": unifiedRefusal,
      "40084": classicRefusal,
    };
    if (given.status !== 200) {
      if (unifiedRefusal === undefined && classicRefusal === undefined) return given;
      const body = JSON.parse(given.body);
      return { ...given, body: JSON.stringify({ ...body, code: codes[body.code] ?? body.code }) };
    }
    if (info === undefined || infoPaths.every((path) => path !== request.path)) return given;
    const body = JSON.parse(given.body);
    return { ...given, body: JSON.stringify({ ...body, data: { ...body.data, ...info } }) };
  };
