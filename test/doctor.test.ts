import { expect, test } from "vitest";
import { diskCheck } from "../src/commands/doctor.ts";
import { keyCheck, type TriedKey } from "../src/commands/doctor-exchange.ts";
import type { ProductType } from "../src/contract/product-types.ts";
import { ExchangeError } from "../src/errors.ts";

const gibibyte = 1_024 ** 3;

test("less than 1 GiB free for the embedded server is warned of", () => {
  expect(diskCheck("./data", gibibyte, 12.5 * 1_024 ** 2)).toEqual({
    status: "ok",
    name: "disk",
    result: "1,024 MiB free in ./data, the database takes 12 MiB",
  });
  expect(diskCheck("./data", gibibyte - 1)).toMatchObject({
    status: "warn",
    result: "1,023 MiB free in ./data",
    remedy: expect.stringContaining("free some space"),
  });
});

test("a disk that is too full for the database to write fails", () => {
  const needed = 64 * 1_024 ** 2;
  expect(diskCheck("./data", needed).status).toBe("warn");
  expect(diskCheck("./data", needed - 1)).toMatchObject({
    status: "FAIL",
    result: "63 MiB free in ./data: too little for the database to write",
    remedy: expect.stringContaining("free some space"),
  });
});

test("product types that are refused alike are named together, and those that are read, too", () => {
  const noRight = new ExchangeError("refused-permission", "no right");
  const gone = new ExchangeError("refused-request", "no such product");
  const refused = new Map<ProductType, ExchangeError>([
    ["COIN-FUTURES", noRight],
    ["SUSDT-FUTURES", gone],
    ["USDC-FUTURES", noRight],
  ]);
  const read = ["USDT-FUTURES"] as const;
  const tried: TriedKey = { mode: "classic", read, refused, info: noRight };
  const readsAll = { name: "a", readsAll: true };
  expect(keyCheck({ name: "a" }, tried)).toEqual({
    status: "FAIL",
    name: "account a",
    result:
      "a classic account; its key reads bills of USDT-FUTURES; refused: COIN-FUTURES and " +
      "USDC-FUTURES: no right; SUSDT-FUTURES: no such product",
  });
  expect(keyCheck(readsAll, tried)).toEqual({
    status: "ok",
    name: "account a",
    result:
      "a classic account; its key reads bills of USDT-FUTURES; not available to it: COIN-FUTURES and USDC-FUTURES: no right; not available to it: SUSDT-FUTURES: no such product; the exchange did not tell whose key it is, nor what it may do: the key of a classic account needs the right to read spot for it",
  });
  expect(keyCheck(readsAll, { ...tried, read: [] }).status).toBe("FAIL");
});

test.each([
  [
    { mayOnlyRead: true, rights: ["uta_mgt"], readsTax: true, ips: ["192.0.2.1", "192.0.2.2"] },
    "ok",
    "it may only read; it can read tax records; it is bound to 2 IP addresses",
    undefined,
  ],
  [
    { mayOnlyRead: true, rights: [], readsTax: false, ips: [] },
    "ok",
    "it may only read; it has no right to tax records; it is bound to no IP address",
    undefined,
  ],
  [
    { mayOnlyRead: false, rights: ["coow", "wwow"], readsTax: false, ips: ["192.0.2.1"] },
    "warn",
    "it may do more than read, in coow, wwow; it has no right to tax records; it is bound to 1 IP address",
    "make a key that may only read: bill-sync needs no more",
  ],
] as const)("what a key may do is told: %j", (rights, status, text, remedy) => {
  const info = { userId: "12", ...rights };
  const tried: TriedKey = { mode: "unified", read: ["UTA-SPOT"], refused: new Map(), info };
  const check = keyCheck({ name: "a" }, tried);
  expect(check).toEqual({
    status,
    name: "account a",
    result: `a unified account; its key reads bills of UTA-SPOT; user 12's; ${text}`,
    ...(remedy && { remedy }),
  });
});
