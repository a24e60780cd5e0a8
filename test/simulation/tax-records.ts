import { taxOperations } from "../../src/contract/tax-records.ts";
import { dayMs } from "../../src/contract/time.ts";
import type { Answer } from "../../src/exchange-server/api.ts";
import { integer, pick, seededRandom } from "../../src/sandbox/random.ts";
import type { SandboxOptions } from "../../src/sandbox/sandbox.ts";
import type { History, RecordsKind } from "./history.ts";

/** In four of ten histories, tax records are wanted. */
export function withRecords(history: History): History {
  const random = seededRandom(`records ${history.seed}`);
  if (random() >= 0.4) return history;
  const records: RecordsKind = {
    wantedMs: integer(random, 91 * dayMs, 220 * dayMs),
    moreDays: integer(random, 0, 20),
    kind: random() < 0.7 ? "equal" : pick(random, ["missing", "amounts", "refused"] as const),
    crowd: random() < 0.2 ? integer(random, 500, 700) : 0,
  };
  return { ...history, records };
}

/** The sandbox of an account with such tax records. */
export function recordsOptions(
  records: RecordsKind | undefined,
): Pick<SandboxOptions, "alterCredential" | "wrapAnswer"> {
  return records === undefined ? {} : wrongRecords[records.kind];
}

const wrongRecords: Readonly<Record<RecordsKind["kind"], ReturnType<typeof recordsOptions>>> = {
  equal: {},
  missing: { wrapAnswer: changed((rows) => rows.slice(0, -1)) },
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
