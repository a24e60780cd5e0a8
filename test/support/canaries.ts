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

/** The length in bytes of the shortest canary: a shorter one would be found by chance. */
const lengthMin = 8;

/** Finds canaries in any bytes, in upper and lower case. */
export function canarySearch(canaries: readonly string[]): (place: Buffer) => readonly string[] {
  const byStart = new Map<number, { readonly canary: string; readonly bytes: Buffer }[]>();
  const mayStart = new Uint8Array(1 << 16);
  for (const canary of canaries) {
    const bytes = Buffer.from(canary.toLowerCase());
    if (bytes.length < lengthMin) throw new RangeError(`a canary of ${bytes.length} bytes`);
    const start = bytes.readUInt32BE(0);
    byStart.set(start, [...(byStart.get(start) ?? []), { canary, bytes }]);
    mayStart[start & 0xffff] = 1;
  }
  return (place) => {
    const lower = lowerCase(place);
    const found = new Set<string>();
    let start = 0;
    for (let at = 0; at < lower.length; at++) {
      start = ((start << 8) | (lower[at] ?? 0)) >>> 0;
      if (mayStart[start & 0xffff] === 0) continue;
      for (const { canary, bytes } of byStart.get(start) ?? []) {
        const end = at - 3 + bytes.length;
        if (end <= lower.length && bytes.compare(lower, at - 3, end) === 0) found.add(canary);
      }
    }
    return [...found];
  };
}

function lowerCase(bytes: Buffer): Buffer {
  const lower = Buffer.from(bytes);
  for (let at = 0; at < lower.length; at++) {
    const byte = lower[at] ?? 0;
    if (byte >= 0x41 && byte <= 0x5a) lower[at] = byte + 0x20;
  }
  return lower;
}
