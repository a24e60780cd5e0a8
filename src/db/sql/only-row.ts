/**
 * The row of a statement that always returns one. A missing row must not pass for a count of 0 or for
 * "nothing found".
 * @throws where there is no row, which is a defect.
 */
export function onlyRow<Row>(rows: readonly Row[], what: string): Row {
  const [row] = rows;
  if (row === undefined) throw new Error(`defect: ${what} came back without a row`);
  return row;
}
