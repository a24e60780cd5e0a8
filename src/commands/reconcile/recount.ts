import type { BillCount } from "../../ledger/bill-counts.ts";
import { formatCount } from "../../output/format.ts";
import { streamName } from "../../output/stream-names.ts";

export const recountText = ({ counted, stored, ...stream }: BillCount): string =>
  `${streamName(stream)}: status showed ${formatCount(counted)} bills; ${formatCount(stored)} ` +
  "are stored, and status shows these from now on";
