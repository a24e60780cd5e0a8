/** Compares decimal ids by value. They are strings of any length, since they exceed 2^53. */
export function compareIds(left: string, right: string): number {
  const [a, b] = [withoutZeros(left), withoutZeros(right)];
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}

const withoutZeros = (id: string): string => (id.startsWith("0") ? id.replace(/^0+(?=.)/, "") : id);
