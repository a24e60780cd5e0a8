import { type PieceName, pieceNames } from "./pieces.ts";
import { type Days, type Selection, walletValue } from "./selection.ts";

/** What a figure narrows the bills of some days to. */
export type Narrowed = {
  readonly piece?: PieceName | undefined;
  /** A contract; empty for bills that name none. */
  readonly symbol?: string | undefined;
  /** A business type. */
  readonly type?: string | undefined;
};

/** The bills of a figure, and what a reader searches among them. */
export type BillFilter = Narrowed & {
  /** Part of a bill's id, type or contract; empty for all. */
  readonly search: string;
};

/** The address of the bills that make up a figure. */
export function billsAddress(
  selection: Selection,
  { from, to, piece, symbol, type }: Days & Narrowed,
): string {
  const exact = selection.isExact ? "&exact=1" : "";
  const ofPiece = piece === undefined ? "" : `&of=${piece}`;
  const ofSymbol = symbol === undefined ? "" : `&${new URLSearchParams({ symbol })}`;
  const ofType = type === undefined ? "" : `&${new URLSearchParams({ type })}`;
  return `/bills?${walletValue(selection)}&from=${from}&to=${to}${ofPiece}${ofSymbol}${ofType}${exact}`;
}

/** The filter of such an address. An unknown piece is none. */
export const filterIn = (asked: URLSearchParams): BillFilter => ({
  piece: pieceNames.find((name) => name === asked.get("of")),
  symbol: asked.get("symbol") ?? undefined,
  type: asked.get("type") ?? undefined,
  search: asked.get("search")?.trim() ?? "",
});
