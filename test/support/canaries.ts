import { randomBytes } from "node:crypto";

/** A secret in all spellings in which it could still be used, and its halves. */
export function canariesOf(secret: string): readonly string[] {
  const whole = spellingsOf(secret);
  const halves = whole.flatMap((form) => [
    form.slice(0, Math.ceil(form.length / 2)),
    form.slice(Math.floor(form.length / 2)),
  ]);
  return [...new Set([...whole, ...halves])];
}

function spellingsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ "": secret }).toString().slice(1),
    json,
    json.replaceAll("/", "\\/"),
    JSON.stringify(json).slice(1, -1),
    secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
    bytes.toString("hex"),
    [...secret].reverse().join(""),
    ...[0, 1, 2].flatMap((before) => withinBase64(bytes, before)),
  ];
}

/** In base64 of a text with the secret at this offset: the part that encodes only the secret. */
function withinBase64(secret: Buffer, before: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), secret]);
  const whole = (encoding: "base64" | "base64url") =>
    bytes.toString(encoding).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return [whole("base64"), whole("base64url")];
}

/** With characters that each way of spelling changes; no two canaries have a part in common. */
export const canaryPassword = (): string =>
  `${randomBytes(9).toString("base64url")}/%"&\\:${randomBytes(9).toString("base64url")}`;

/** The length of the shortest canary: a shorter one would be found by chance. */
const lengthMin = 8;

/** Whether any bytes hold a canary, in upper or lower case. */
export function canarySearch(canaries: readonly string[]): (place: Buffer) => boolean {
  const short = canaries.find(({ length }) => length < lengthMin);
  if (short !== undefined) throw new RangeError(`a canary of ${short.length} characters`);
  const pattern = new RegExp(canaries.map((canary) => RegExp.escape(canary)).join("|"), "i");
  return (place) => pattern.test(place.toString("latin1"));
}
