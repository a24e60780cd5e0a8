import { isUnified, type ProductType } from "../../src/core/contract/product-types.ts";
import { taxOperations } from "../../src/core/contract/tax-records.ts";
import type { AccountMode } from "../../src/core/words/account-state.ts";
import { epochMs } from "../../src/lib/time.ts";
import type { Answer } from "../../src/wings/sandbox/exchange/api.ts";
import { alwaysClassic, isInTransit, type ModeChange, modeAt } from "../exchange/account-ledger.ts";
import type { OddCredential } from "../exchange/credential.ts";
import type { SandboxOptions } from "../exchange/sandbox.ts";
import type { AccountKind, History, KeyKind, RecordsKind } from "./history.ts";
import { accountName, type World } from "./world.ts";

export const modeOfType = (productType: ProductType): AccountMode =>
  isUnified(productType) ? "unified" : "classic";

/**
 * The exchange's record of the account: its modes, and since when.
 * @param start when the history begins, ms since the Unix epoch.
 */
export function simulatedAccount({ account, ledger }: History, start: number) {
  const changes = account === undefined ? alwaysClassic : changesOf(account, start);
  /** Its mode; undefined while it changes from one to the other. */
  const modeOf = (time: number): AccountMode | undefined => {
    const mode = modeAt(changes, time);
    if (isInTransit(mode)) return undefined;
    return mode === "classic" ? "classic" : "unified";
  };
  const isEver = (mode: string) => changes.some((change) => change.mode === mode);
  return {
    /** All product types of which it ever has bills. */
    productTypes: [
      ...(isEver("classic") ? ledger.productTypes : []),
      ...(account?.productTypes ?? []),
    ] as readonly ProductType[],
    changes,
    modeAt: modeOf,
    /** Whether its mode stays the same in this span of time, including both ends. */
    isSteady: (from: number, to: number) =>
      modeOf(from) !== undefined && changes.every(({ at }) => at <= from || at > to),
    /** Whether it has bills of the product type at that time. */
    has: (productType: ProductType, time: number) => modeOf(time) === modeOfType(productType),
  };
}

const changesOf = ({ modes }: AccountKind, start: number): readonly ModeChange[] =>
  modes.map(({ atMs, mode }, index) => ({
    at: index === 0 ? Number.NEGATIVE_INFINITY : epochMs(start + atMs),
    mode,
  }));

/** The accounts of the exchange whose keys a history has, the simulated one first. */
export const accountsOf = ({ steps }: History): readonly string[] => [
  accountName,
  ...new Set(steps.flatMap(({ key = "own" }) => (key === "own" ? [] : [key]))),
];

/** @param user the user of the simulated account. */
export function credentialOf(
  { isUserUntold = false }: History,
  credential: OddCredential,
  user: string,
): OddCredential {
  const { name, uid, permissions } = credential;
  return {
    ...credential,
    uid: name === "second" || name === "twice" ? user : uid,
    permissions: isUserUntold ? permissions.filter((one) => one !== "spot") : permissions,
  };
}

/**
 * The key that a run gets: the account's own as long as nothing proves whose account it is; and whether it is to be refused.
 */
export async function keyOf(
  { history, owner, pool, io }: World,
  wanted: KeyKind,
): Promise<{ readonly key: KeyKind; readonly isForeign: boolean }> {
  if (wanted === "own") return { key: wanted, isForeign: false };
  const isFirst = owner() !== "own";
  if (wanted === "second") {
    // While an account is upgraded, the exchange may not have told its user yet: a second key is then refused.
    const { rows: told } = await io(() =>
      pool.query("select 1 from account_users where account = $1 limit 1", [accountName]),
    );
    const isTaken = isFirst || history.isUserUntold === true || told.length > 0;
    return { key: isTaken ? "second" : "own", isForeign: false };
  }
  if (isFirst) return { key: wanted === "empty" ? "empty" : "own", isForeign: false };
  const least = wanted === "twice" ? history.ledger.productTypes.length : 1;
  const proof = history.isUserUntold
    ? "select count(*) > 0 as is_proven from ledgers where account = $1 and (first_unread_at is not null or bills > 0)"
    : `select count(*) >= ${least} as is_proven from account_users where account = $1`;
  const { rows } = await io(() => pool.query<{ is_proven: boolean }>(proof, [accountName]));
  return rows[0]?.is_proven ? { key: wanted, isForeign: true } : { key: "own", isForeign: false };
}

/** The sandbox of an account with such tax records. */
export function recordsOptions(
  records: RecordsKind | undefined,
): Pick<SandboxOptions, "alterCredential" | "wrapAnswer"> {
  return records === undefined ? {} : wrongRecords[records.kind];
}

const wrongRecords: Readonly<Record<RecordsKind["kind"], ReturnType<typeof recordsOptions>>> = {
  equal: {},
  "without-first": { wrapAnswer: changed((rows) => rows.slice(1)) },
  "without-last": { wrapAnswer: changed((rows) => rows.slice(0, -1)) },
  amounts: { wrapAnswer: changed((rows) => rows.map((row) => ({ ...row, amount: "0.125" }))) },
  refused: {
    alterCredential: (credential) => ({
      ...credential,
      permissions: credential.permissions.filter((one) => one !== "tax"),
    }),
  },
};

function changed(change: (rows: readonly object[]) => readonly object[]) {
  return (answer: Answer): Answer =>
    async (request) => {
      const given = await answer(request);
      const isAnother = taxOperations.every(({ path }) => path !== request.path);
      if (given.status !== 200 || isAnother || !given.body.endsWith("}")) return given;
      const body = JSON.parse(given.body);
      return { ...given, body: JSON.stringify({ ...body, data: change(body.data) }) };
    };
}
