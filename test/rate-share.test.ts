import { expect, test } from "vitest";
import { exchangeOf } from "../src/app/exchange-session.ts";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { minuteMs, secondMs } from "../src/contract/time.ts";
import { rollingWindow } from "../src/exchange-server/arrivals.ts";
import { Secret } from "../src/secret.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const start = Date.UTC(2026, 3, 30);

/** One account's exchange in virtual time. It counts requests and serves no bills. */
function world() {
  const time = virtualClock(start);
  const all = rollingWindow(secondMs);
  const credentials = {
    key: new Secret("a-key-of-an-account"),
    secret: new Secret("a-secret-of-an-account"),
    passphrase: new Secret("a-passphrase"),
  };
  const processOf = () => {
    let arrivals = 0;
    const exchange = exchangeOf(
      { baseUrl: new URL("http://127.0.0.1"), locale: "en-US" },
      { credentials },
      {
        clock: time.clock,
        random: () => 0.5,
        async transport() {
          await time.clock.sleep(20);
          arrivals += 1;
          all.arrive(time.now());
          const requestTime = time.clock.now();
          await time.clock.sleep(20);
          const data = { list: [], bills: [], cursor: null };
          return {
            status: 200,
            retryAfter: undefined,
            body: JSON.stringify({ code: "00000", msg: "success", requestTime, data }),
          };
        },
      },
    );
    return { ...exchange, arrivals: () => arrivals };
  };
  return { time, peak: all.peak, sync: processOf(), verify: processOf() };
}

test.each(["USDT-FUTURES", "UTA-SPOT"] as const)(
  "a sync and a verification of %s together keep to the limit and use it, four fifths and a fifth",
  async (productType) => {
    const { time, peak, sync, verify } = world();
    const { operation, query } = billsApiOf(productType);
    const { requests } = operation.limit;
    const stop = new AbortController();
    const asking = ({ client }: typeof sync, count: number) =>
      Array.from({ length: count }, () =>
        client.ask(operation, query({ limit: 1 }), { signal: stop.signal }).catch(() => undefined),
      );
    const work = async () => {
      const busy = asking(sync, 100 * requests);
      await time.clock.sleep(5 * secondMs);
      await sync.rateShare.leaveShare();
      await verify.useVerifyShare();
      const [syncs, verifies] = [sync.arrivals(), verify.arrivals()];
      busy.push(...asking(verify, 100 * requests));
      await time.clock.sleep(minuteMs);
      const sent = [sync.arrivals() - syncs, verify.arrivals() - verifies];
      stop.abort(new Error("enough"));
      await Promise.all(busy);
      return sent;
    };
    const [syncs = 0, verifies = 0] = await time.run(work());
    expect(peak()).toBeLessThanOrEqual(requests);
    expect(syncs / (60 * requests)).toBeGreaterThan(0.76);
    expect(verifies / (60 * requests)).toBeGreaterThan(0.19);
  },
);
