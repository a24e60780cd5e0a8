import type { Echo } from "./canary-runs.ts";
import { give } from "./exchange-client.ts";

const html = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const secretOf = (echoed: string): string => /^secret: (.*)$/m.exec(echoed)?.[1] ?? "";
const envelope = (data: object) => ({
  code: "00000",
  msg: "success",
  requestTime: Date.now(),
  data,
});
const bill = (but: object) => ({
  billId: String(Date.now()),
  symbol: "BTCUSDT",
  amount: "1",
  fee: "0",
  feeByCoupon: "",
  businessType: "open_long",
  coin: "USDT",
  balance: "1",
  cTime: String(Date.now()),
  ...but,
});
/** For bills and for loan-to-value. */
const page = (row: object, more: object = {}) =>
  envelope({ bills: [row], endId: null, ltv: "0.1", unpaidInfo: [row], ...more });

/** Places in which an exchange, or a proxy in front of it, may repeat what it was sent. */
export const echoes: Readonly<Record<string, Echo>> = {
  "a page with 200": (response, body) => give(response, { body }),
  "a page with 502": (response, body) => give(response, { status: 502, body }),
  "a page of HTML": (response, echoed) =>
    give(response, { status: 403, body: `<html><pre>${html(echoed)}</pre></html>` }),
  "a refusal's message": (response, msg) =>
    give(response, { status: 400, body: { code: "40009", msg } }),
  "a refusal's code": (response, code) =>
    give(response, { status: 400, body: { code, msg: "no" } }),
  "a redirect": (response, echoed) =>
    give(response, {
      status: 302,
      headers: { location: `/login?${encodeURIComponent(echoed)}` },
      body: "",
    }),
  "a Retry-After": (response, echoed) =>
    give(response, { status: 429, headers: { "retry-after": secretOf(echoed) }, body: "" }),
  "JSON that is no envelope": (response, echoed) => give(response, { body: { echoed } }),
  "a refusal in base64": (response, echoed) =>
    give(response, { status: 400, body: Buffer.from(echoed).toString("base64") }),
  "a refusal in hex": (response, echoed) =>
    give(response, { status: 400, body: Buffer.from(secretOf(echoed)).toString("hex") }),
  "a broken head": (response, echoed) =>
    response.socket?.end(`HTTP/1.1 200 OK\r\n${echoed}\r\n: :\r\n\r\n`),
  "no HTTP": (response, echoed) => response.socket?.end(echoed),
  "JSON that is cut off": (response, echoed) =>
    give(response, { body: JSON.stringify(page(bill({ symbol: echoed }))).slice(0, -9) }),
  "a page with it for a list": (response, echoed) =>
    give(response, { body: envelope({ bills: echoed, [echoed]: echoed, unpaidInfo: echoed }) }),
  "a bill's symbol": (response, echoed) =>
    give(response, { body: page(bill({ symbol: secretOf(echoed), coin: secretOf(echoed) })) }),
  "a bill's other fields": (response, echoed) =>
    give(response, { body: page(bill({ debug: { headers: echoed } })) }),
  "a field's name": (response, echoed) =>
    give(response, { body: page(bill({ [secretOf(echoed)]: "1" })) }),
  "a bill that breaks the contract": (response, echoed) =>
    give(response, { body: page(bill({ amount: secretOf(echoed) })) }),
  "a bill that spells it in escapes": (response, echoed) =>
    give(response, {
      body: JSON.stringify(page(bill({ symbol: "@@" }))).replaceAll(
        "@@",
        [...secretOf(echoed)]
          .map((sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
          .join(""),
      ),
    }),
  "a bill in base64": (response, echoed) =>
    give(response, {
      body: page(bill({ symbol: Buffer.from(echoed).toString("base64").slice(0, 190) })),
    }),
  "the passphrase alone": (response, _echoed, request) =>
    give(response, { body: page(bill({ symbol: request.headers["access-passphrase"] })) }),
  "the signature alone": (response, _echoed, request) =>
    give(response, { body: page(bill({ coin: request.headers["access-sign"] })) }),
  "the cursor": (response, echoed) =>
    give(response, { body: page(bill({}), { endId: secretOf(echoed) }) }),
};
