import { printableLine } from "../printable.ts";
import type { Stream } from "../sync/store.ts";

// Made printable, because the tables may hold names that no configuration accepts.
export const streamName = ({
  account,
  productType,
}: {
  readonly account: string;
  /** A product type, or the name of a wallet. */
  readonly productType: string;
}): string => printableLine(`${account}/${productType}`);

/** The names of one account's streams: `main/USDT-FUTURES`, or `main/USDT-FUTURES, COIN-FUTURES`. */
export const streamNames = (streams: readonly Stream[]): string =>
  streams
    .map((stream, place) => (place === 0 ? streamName(stream) : printableLine(stream.productType)))
    .join(", ");

/** A table's first column. Where all rows have the same account, it is named in the title only. */
export function streamColumn(streams: readonly Stream[]): {
  readonly title: string;
  readonly nameOf: (stream: Stream) => string;
} {
  const [account, ...others] = new Set(streams.map((stream) => stream.account));
  return account === undefined || others.length > 0
    ? { title: "account/product type", nameOf: streamName }
    : { title: printableLine(account), nameOf: ({ productType }) => printableLine(productType) };
}

/** "main/loan-to-value", "main/loan-to-value/123": the account's own risk unit, or a named one. */
export const riskUnitName = (unit: {
  readonly account: string;
  readonly riskUnitId: string | undefined;
}): string =>
  [unit.account, "loan-to-value", unit.riskUnitId ?? ""]
    .filter(Boolean)
    .map(printableLine)
    .join("/");
