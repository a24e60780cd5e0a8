/** The spellings of a secret in a text: as it is, and in URLs, forms, JSON, HTML, base64 and hex. */
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
 * The base64 characters that encode only the secret, where it follows so many bytes of a group of three.
 * A proxy that encodes all headers as one text encodes the secret together with its neighbours.
 */
function base64Within(secret: string, bytesBefore: 0 | 1 | 2): string {
  const bytes = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(secret)]);
  const signs = Math.floor((bytes.length * 8) / 6);
  return bytes.toString("base64").slice(Math.ceil((bytesBefore * 8) / 6), signs);
}

/** A shorter spelling would occur in any text by chance. */
const formLengthMin = 3;

const formsOf = (secrets: readonly string[]): readonly string[] =>
  secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => spellings.map((spell) => spell(secret)))
    .filter((form) => form.length >= formLengthMin);

/**
 * Removes secrets from an untrusted text: a proxy may echo the headers that it received.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  // Longer forms first: if a shorter form inside a longer one were replaced first, the rest would stay.
  const forms = formsOf(secrets).toSorted((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const anyForm = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "gi");
  return (text) => text.replaceAll(anyForm, "[secret]");
}

// A shorter passphrase may be a word or a number that occurs in the data by chance.
const foundAnywhereMin = 16;
const foundWholeMin = 8;

/**
 * Whether data contains a secret. A secret of 16 or more characters is found in any spelling and place, and
 * one of 8 to 15 only as a whole string. Shorter ones are not looked for: the exchange does not accept them.
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
