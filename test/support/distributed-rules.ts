import { dividedTables } from "./divided-tables.ts";

const touched = new RegExp(
  `\\b(?:from|join|using|into|update)\\s+(?:public\\.)?"?(?:${dividedTables.join("|")})\\b`,
  "i",
);

/** What Citus 13.2 refuses of rows that it divides by account. */
const rules: readonly (readonly [rule: string, isBroken: (text: string) => boolean])[] = [
  [
    "a step of a `with` writes",
    (text) => /\bas\s+(?:materialized\s+)?\(\s*(?:insert|update|delete)\b/i.test(text),
  ],
  ["a temporary table", (text) => /\b(?:temp|temporary)\s+table|\bpg_temp\b/i.test(text)],
  [
    "a condition of UPDATE or DELETE that adds to a time",
    (text) =>
      /^\s*(?:update|delete)\b/i.test(text) &&
      /\bwhere\b[^;]*[-+]\s*(?:\$\d+\s*\*\s*)?interval\b/i.test(text),
  ],
  [
    "a parameter in ON CONFLICT of INSERT … SELECT",
    (text) =>
      /\binsert\s+into\b[^;]*\bselect\b/i.test(text) && /\bon\s+conflict\b[^;]*\$\d/i.test(text),
  ],
  [
    "a write to business_types, which all nodes must answer",
    (text) =>
      // A page that brings a type which nobody knew adds it.
      /^\s*(?:insert into|update|delete from)\s+"?business_types\b/i.test(text) &&
      !/\bas met \(/.test(text),
  ],
];

/** The rules that a statement breaks. */
export const brokenRules = (text: string): readonly string[] =>
  touched.test(text) || /business_types/.test(text)
    ? rules.filter(([, isBroken]) => isBroken(text)).map(([rule]) => rule)
    : [];
