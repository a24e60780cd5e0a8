/** A secret as texts show it: as it is, and as URLs, forms, JSON, HTML and base64 spell it. */
const spellings: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  encodeURIComponent,
  (secret) => new URLSearchParams({ "": secret }).toString().slice(1),
  (secret) => JSON.stringify(secret).slice(1, -1),
  (secret) => JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
  (secret) => secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  (secret) => Buffer.from(secret).toString("base64"),
  (secret) => Buffer.from(secret).toString("base64url"),
  (secret) => Buffer.from(secret).toString("hex"),
  (secret) => base64Within(secret, 0),
  (secret) => base64Within(secret, 1),
  (secret) => base64Within(secret, 2),
];

/**
 * The signs of base64 that belong to a secret alone where so many bytes, of three, stand before it:
 * a proxy that packs all headers into one text packs it with its neighbours.
 */
function base64Within(secret: string, bytesBefore: 0 | 1 | 2): string {
  const bytes = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(secret)]);
  const signs = Math.floor((bytes.length * 8) / 6);
  return bytes.toString("base64").slice(Math.ceil((bytesBefore * 8) / 6), signs);
}

/** A form that is shorter than this stands in any text by chance. */
const formLengthMin = 3;

const formsOf = (secrets: readonly string[]): readonly string[] =>
  secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => spellings.map((spell) => spell(secret)))
    .filter((form) => form.length >= formLengthMin);

/**
 * Takes secrets out of a text that came from outside: a proxy may echo the headers that it
 * got.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  // One that holds another comes first, or its rest would stay.
  const forms = formsOf(secrets).toSorted((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const anyForm = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "gi");
  return (text) => text.replaceAll(anyForm, "[secret]");
}

// Shorter than this, a passphrase may be a word or a number that is in the data by chance.
const foundAnywhereMin = 16;
const foundWholeMin = 8;

/**
 * Whether data repeats a secret: a long one in any spelling and place, a shorter one as a whole
 * text only, and one of less than 8 signs, which the exchange does not take, not at all.
 */
export function holdsSecret(data: unknown, secrets: readonly string[]): boolean {
  const json = JSON.stringify(data) ?? "";
  const long = secrets.filter(({ length }) => length >= foundAnywhereMin);
  const short = secrets.filter(
    ({ length }) => length >= foundWholeMin && length < foundAnywhereMin,
  );
  return (
    formsOf(long).some((form) => json.includes(form)) ||
    short.some((secret) => json.includes(JSON.stringify(secret)))
  );
}
