import type { Credential } from "../../src/exchange-server/source.ts";
import { pick, seededRandom } from "../../src/sandbox/random.ts";
import type { History, KeyKind } from "./history.ts";
import { accountName, type World } from "./world.ts";

/**
 * In three of ten histories, runs have other keys than the account's. Some begin with the key of a user without bills. A
 * second name is drawn only where the account stays classic and its user is told: two names of a user may share his ledgers.
 */
export function withKeys(history: History): History {
  const random = seededRandom(`keys ${history.seed}`);
  if (random() >= 0.3) return history;
  const isClassic = history.account === undefined;
  const isUserUntold = isClassic && random() < 0.4;
  const later = ["second", "other", "empty"] as const;
  const kinds = isClassic && !isUserUntold ? ([...later, "twice"] as const) : later;
  const isEmptyFirst = random() < 0.5;
  const steps = history.steps.map((step, index) => {
    if (index === 0) return isEmptyFirst ? { ...step, key: "empty" as const } : step;
    return random() < 0.5 ? { ...step, key: pick(random, kinds) } : step;
  });
  return { ...history, ...(isUserUntold && { isUserUntold }), steps };
}

/** The accounts of the exchange whose keys a history has, the simulated one first. */
export const accountsOf = ({ steps }: History): readonly string[] => [
  accountName,
  ...new Set(steps.flatMap(({ key = "own" }) => (key === "own" ? [] : [key]))),
];

/** @param user the user of the simulated account. */
export function credentialOf(
  { isUserUntold = false }: History,
  credential: Credential,
  user: string,
): Credential {
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
