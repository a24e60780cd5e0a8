/** The most decimal places of any figure that a test adds up. */
export const places = 18;

/**
 * A decimal as a whole number of units in the last of {@link places}.
 * @throws if it has more places, or is not a decimal.
 */
export const exact = (decimal: string): bigint => {
  const [, sign = "", whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  if (whole === "" || part.length > places) throw new Error(`"${decimal}" is not such a decimal`);
  const magnitude = BigInt(whole + part.padEnd(places, "0"));
  return sign === "-" ? -magnitude : magnitude;
};
