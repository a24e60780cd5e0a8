/**
 * The Postgres array literal of a column of values, to be cast to its type: `{"a",null,"b\"c"}`.
 * Binding one text a column costs Node a fraction of binding each value.
 */
export function textArray(values: readonly (string | null)[]): string {
  const json = JSON.stringify(values);
  // JSON writes it faster, and alike but for the brackets, where it escapes only quotes and backslashes.
  return /\\[^"\\]/.test(json) ? `{${values.map(element).join(",")}}` : `{${json.slice(1, -1)}}`;
}

const element = (value: string | null): string =>
  value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
