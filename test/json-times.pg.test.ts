import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs));

type Json = Readonly<Record<string, unknown>>;

/** All objects of a document, at any depth. */
function objectsOf(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsOf);
  if (typeof value !== "object" || value === null) return [];
  return [value as Json, ...Object.values(value).flatMap(objectsOf)];
}

test("every time that --json prints is in whole seconds, as jq's fromdate reads it; exact ones stand beside", async () => {
  await using sandbox = await openSandbox({ seed: "times", density: 0.2, isParent: false });
  await using database = await testDatabase();
  const env = environmentFor(sandbox, database, {
    PRODUCT_TYPES: "USDT-FUTURES",
    SYNC_LTV: "true",
  });
  const span = ["--from", daysAgo(20), "--to", daysAgo(1)];
  const read = async (...command: readonly string[]) => {
    const end = await runCli([...command, "--json"], { env });
    return objectsOf(JSON.parse(end.stdout));
  };
  // The verification runs first: every bill of the exchange is missing then.
  const outputs = {
    verify: await read("verify", ...span),
    plan: await read("sync", "--dry-run"),
    sync: await read("sync"),
    status: await read("status"),
    reconcile: await read("reconcile"),
    doctor: await read("doctor"),
    accounts: await read("accounts", "list"),
  };
  for (const [command, objects] of Object.entries(outputs)) {
    const texts = objects.flatMap(Object.values).filter((value) => typeof value === "string");
    const times = texts.filter((text) => /^\d{4}-\d\d-\d\dT/.test(text));
    expect({ command, odd: times.filter((text) => !/T\d\d:\d\d:\d\dZ$/.test(text)) }).toEqual({
      command,
      odd: [],
    });
    for (const object of objects) {
      for (const [name, exactly] of Object.entries(object)) {
        const text = object[name.replace(/Ms$/, "")];
        if (!name.endsWith("Ms") || typeof text !== "string") continue;
        expect(Date.parse(text)).toBe(Math.floor(Number(exactly) / 1_000) * 1_000);
      }
    }
  }
  const named = (objects: readonly Json[], name: string) => objects.filter((one) => name in one);
  expect(named(outputs.verify, "cTimeMs").length).toBeGreaterThan(0);
  expect(named(outputs.plan, "fromMs").length).toBeGreaterThan(0);
  expect(named(outputs.status, "completeThroughMs").length).toBeGreaterThan(0);
  expect(named(outputs.sync, "takenAt").length).toBeGreaterThan(0);
});
