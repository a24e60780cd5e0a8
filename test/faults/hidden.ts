import type { Source } from "../../src/exchange-server/source.ts";

/** An exchange whose pages have no bill of this time or later, while its balances have all: times in ms since the epoch. */
export const hidingNewest = (source: Source, hiddenFrom: () => number): Source => ({
  ...source,
  bills: (request) => {
    const endTime = Math.min(request.endTime ?? Number.POSITIVE_INFINITY, hiddenFrom() - 1);
    const isCut = Number.isFinite(endTime);
    return source.bills({
      ...request,
      endTime: isCut ? (endTime as typeof request.now) : undefined,
    });
  },
});
