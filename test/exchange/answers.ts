import { type ApiAnswer, Refusal, toAnswer } from "../../src/core/server/answer.ts";
import { type Fault, type LaterCode, laterCodes } from "./kinds.ts";

/** A fault on an answer's way. */
type Delivery =
  /** Resets the connection before the first byte. */
  | { readonly way: "reset" }
  /** Breaks the connection after so many bytes of the body. */
  | { readonly way: "cut"; readonly afterBytes: number }
  /** Sends nothing for this long, then all. */
  | { readonly way: "hold"; readonly holdMs: number }
  /** Sends so many bytes of the body, default all, one each `dripMs`, then the rest. */
  | { readonly way: "drip"; readonly dripMs: number; readonly bytes?: number };

/** An answer, and the fault on its way. Default none. */
export type DeliveredAnswer = ApiAnswer & { readonly delivery?: Delivery };

const titles = {
  200: "Just a moment...",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
} as const;

const html = (status: keyof typeof titles): ApiAnswer => ({
  status,
  headers: { "content-type": "text/html" },
  body: `<html><head><title>${status} ${titles[status]}</title></head><body></body></html>`,
});

/** The answer that a fault makes of a good one. Unchanged if the fault does not affect answers. */
export function spoiledAnswer(answer: ApiAnswer, fault: Fault): DeliveredAnswer {
  switch (fault.kind) {
    case "too-many-requests":
      return tooMany(answer, fault.retryAfterSeconds);
    case "server-error":
      return html(fault.status);
    case "refused-for-now":
      return refusal(answer, fault.status, fault.code);
    case "html-with-200":
      return html(200);
    case "empty-body":
      return { ...answer, body: "" };
    case "cut-json":
      return { ...answer, body: bytesOf(answer).subarray(0, at(answer, fault.share)).toString() };
    case "no-data":
      return { ...answer, body: JSON.stringify({ ...envelope(answer), ...noData[fault.data] }) };
    case "reset-before-answer":
      return { ...answer, delivery: { way: "reset" } };
    case "reset-in-body":
      return { ...answer, delivery: { way: "cut", afterBytes: at(answer, fault.share) } };
    case "late-answer":
      return { ...answer, delivery: { way: "hold", holdMs: fault.holdMs } };
    case "drip":
      return { ...answer, delivery: dripOf(fault) };
    case "wrong-time":
      return { ...answer, body: withTime(answer, fault.offMs) };
    default:
      return answer;
  }
}

/** The answer of an exchange that serves nothing for now. */
export const refused = (says: "40200" | "503", answer: ApiAnswer): ApiAnswer =>
  says === "503" ? html(503) : refusal(answer, 400, says);

const refusal = (answer: ApiAnswer, status: number, code: LaterCode): ApiAnswer =>
  toAnswer(new Refusal(status, code, laterCodes[code]), envelope(answer).requestTime);

const tooMany = (answer: ApiAnswer, seconds: number | undefined): ApiAnswer =>
  toAnswer(
    new Refusal(
      429,
      "429",
      "Too Many Requests",
      seconds === undefined ? {} : { "retry-after": String(seconds) },
    ),
    envelope(answer).requestTime,
  );

// JSON leaves out undefined members.
const noData = {
  missing: { data: undefined },
  null: { data: null },
  empty: { data: {} },
} as const;

const dripOf = ({ dripMs, bytes }: Fault & { readonly kind: "drip" }) =>
  ({ way: "drip", dripMs, ...(bytes !== undefined && { bytes }) }) as const;

const bytesOf = ({ body }: ApiAnswer): Buffer => Buffer.from(body);

/** The byte at a share of the body. At most the last byte, so that at least one is missing. */
const at = (answer: ApiAnswer, share: number): number => {
  const { length } = bytesOf(answer);
  return Math.min(Math.floor(share * length), length - 1);
};

type Envelope = { readonly requestTime: number };
const envelope = ({ body }: ApiAnswer) => JSON.parse(body) as Envelope;

const withTime = ({ body }: ApiAnswer, offMs: number): string =>
  body.replace(/"requestTime":(\d+)/, (_, time) => `"requestTime":${Number(time) + offMs}`);
