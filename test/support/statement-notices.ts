/**
 * What the server reported of a statement by notices: its plan comes after its result, when the
 * statement is closed.
 */
export type ToldStatement = readonly string[];

const [notice, readyForQuery] = ["N", "Z"];
const headerBytes = 5;

/** Reads the server's side of the protocol, connection by connection, in chunks as they come. */
export function statementNotices(onStatement: (told: ToldStatement) => void) {
  const connections = new WeakMap<object, { rest: Buffer; told: string[] }>();
  return (connection: object, chunk: Buffer): void => {
    const state = connections.get(connection) ?? { rest: Buffer.alloc(0), told: [] };
    connections.set(connection, state);
    state.rest = Buffer.concat([state.rest, chunk]);
    for (;;) {
      if (state.rest.length < headerBytes) return;
      const end = 1 + state.rest.readInt32BE(1);
      if (state.rest.length < end) return;
      const kind = String.fromCharCode(state.rest.readUInt8());
      if (kind === notice) state.told.push(messageOf(state.rest.subarray(headerBytes, end)));
      if (kind === readyForQuery) {
        if (state.told.length > 0) onStatement(state.told);
        state.told = [];
      }
      state.rest = state.rest.subarray(end);
    }
  };
}

/** The field M of a notice; each field ends with a zero. */
function messageOf(fields: Buffer): string {
  const message = fields
    .toString("utf8")
    .split("\0")
    .find((field) => field.startsWith("M"));
  return message?.slice(1) ?? "";
}
