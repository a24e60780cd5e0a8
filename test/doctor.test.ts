import { expect, test } from "vitest";
import { diskCheck, migrationsCheck } from "../src/commands/doctor/database.ts";
import { clockCheck } from "../src/commands/doctor/exchange.ts";
import { type Pooler, poolerOf, type Sightings } from "../src/db/pooler.ts";

const sightings: readonly [string, Sightings, Pooler][] = [
  [
    "each connection keeps its own process",
    { announced: 7, first: 7, second: 8, firstAgain: 7 },
    "none",
  ],
  [
    "the second has the idle first one's process",
    { announced: 5, first: 7, second: 7 },
    "transaction",
  ],
  [
    "the first has got another process",
    { announced: 5, first: 7, second: 8, firstAgain: 9 },
    "transaction",
  ],
  [
    "and even where the number announced was right",
    { announced: 7, first: 7, second: 7 },
    "transaction",
  ],
  [
    "a number was made up, and each keeps its process",
    { announced: 5, first: 7, second: 8, firstAgain: 7 },
    "session",
  ],
];
test.each(sightings)("a pooler is told by processes: %s", (_title, seen, expected) => {
  expect(poolerOf(seen)).toBe(expected);
});

const gibibyte = 1_024 ** 3;

test("less than 1 GiB free for the embedded server is warned of", () => {
  expect(diskCheck("./data", gibibyte, 12.5 * 1_024 ** 2)).toEqual({
    status: "ok",
    name: "disk",
    found: "1,024 MiB free in ./data, the database takes 12 MiB",
  });
  expect(diskCheck("./data", gibibyte - 1)).toMatchObject({
    status: "warn",
    found: "1,023 MiB free in ./data",
    remedy: expect.stringContaining("free some space"),
  });
});

test("a clock more than 5 s off is warned of, and no error: the exchange's is signed with", () => {
  expect(clockCheck(5_000)).toMatchObject({
    status: "ok",
    found: expect.stringContaining("5.0 s behind"),
  });
  expect(clockCheck(-5_000)).toMatchObject({
    status: "ok",
    found: expect.stringContaining("5.0 s ahead of"),
  });
  expect(clockCheck(5_001)).toMatchObject({
    status: "warn",
    remedy: expect.stringContaining("NTP"),
  });
  expect(clockCheck(-90_000)).toMatchObject({
    status: "warn",
    found: expect.stringContaining("90.0 s ahead of"),
  });
  expect(clockCheck(undefined)).toMatchObject({ status: "warn" });
});

test("migrations that sync applies by itself are no failure", () => {
  expect(migrationsCheck({ applied: 3, pending: 0 }).status).toBe("ok");
  expect(migrationsCheck({ applied: 0, pending: 3 })).toMatchObject({
    status: "warn",
    found: "none applied yet",
  });
  expect(migrationsCheck({ applied: 2, pending: 1 })).toMatchObject({
    status: "warn",
    found: "1 migration to apply",
  });
});
