/** A secret as texts show it: as it is, and as URLs, forms, JSON, HTML and base64 spell it. */
const spellings: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  encodeURIComponent,
  (secret) => new URLSearchParams({ "": secret }).toString().slice(1),
  (secret) => JSON.stringify(secret).slice(1, -1),
  (secret) => JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
  (secret) => secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  (secret) => Buffer.from(secret).toString("base64"),
];

/**
 * Takes secrets out of a text that came from outside: a proxy may echo the headers that it
 * got. What is encoded together with other text is not found.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => spellings.map((spell) => spell(secret)))
    // One that holds another comes first, or its rest would stay.
    .sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const anyForm = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "gi");
  return (text) => text.replaceAll(anyForm, "[secret]");
}
