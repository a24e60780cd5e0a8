/**
 * Takes secrets out of a text that came from outside: a proxy may echo the headers that it
 * got. Finds them as they are and as URL, JSON and base64 spell them.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      ...[secret, secret.replaceAll("/", "\\/")].map((text) => JSON.stringify(text).slice(1, -1)),
      Buffer.from(secret).toString("base64"),
    ])
    // One that holds another comes first, or its rest would stay.
    .sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const anyForm = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "gi");
  return (text) => text.replaceAll(anyForm, "[secret]");
}
