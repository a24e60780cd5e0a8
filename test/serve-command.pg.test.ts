import { chmod, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { epochMs, hourMs, minuteMs } from "../src/lib/time.ts";
import { changeKeys, readKeys } from "../src/wings/serve/mirror/key-file.ts";
import { bills } from "./support/bills.ts";
import { runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { migrateAt } from "./support/migrate-at.ts";
import { aMirrorKey, askServer } from "./support/mirror.ts";
import { coverLedger, storeBills } from "./support/stored-ledger.ts";
import { distantServer } from "./support/tcp-proxy.ts";
import { throwawayServer } from "./support/throwaway-server.ts";

test("serve prints its address, answers for its health, names commands as npm runs them, and ends with code 0 on SIGINT", async () => {
  await using database = await testDatabase();
  await using way = await distantServer(database.url, { roundTripMs: 0 });
  const env = { DATABASE_URL: way.url, npm_lifecycle_event: "serve" };
  await using serving = await startCli(["serve", "--port", "0"], { env });
  const [url, port = ""] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:(\d+)/);
  // A role, or a pooler in session mode, may have no second one.
  expect(way.connections().most).toBe(1);
  const answers = await Promise.all(
    ["/healthz", "/readyz", "/nothing?secret=hunter2"].map((path) => fetch(`${url}${path}`)),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 503, 404]);
  const page = await (await fetch(url)).text();
  expect(page).toContain("<code>npm run doctor</code> checks the key");
  expect(page).not.toContain("bill-sync sync");
  expect(await runCli(["serve", "--port", port], { env })).toMatchObject({
    ...{ code: 1, stdout: "" },
    stderr: expect.stringMatching(/^port \d+ of 127\.0\.0\.1 cannot be used [^\n]* choose another/),
  });
  serving.kill("SIGINT");
  const end = await serving.ended;
  expect(end).toMatchObject({ code: 0, stdout: `${url}\n` });
  expect(end.stderr).toContain('"route":"/readyz"');
  expect(end.stderr).not.toContain("hunter2");
  await using empty = await testDatabase({ isEmpty: true });
  expect(
    await runCli(["serve", "--port", "0"], { env: { DATABASE_URL: empty.url } }),
  ).toMatchObject({
    ...{ code: 1, stderr: expect.stringMatching(/^nothing is stored yet in \S+; bill-sync sync /) },
  });
  await using folder = await temporaryFolder();
  for (const words of [
    ["serve", "--port", "0"],
    ["db", "backup", "file"],
  ]) {
    expect(await runCli(words, { cwd: folder.path })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^nothing is stored yet in data\/postgres; bill-sync sync /),
    });
  }
  expect(await readdir(folder.path)).toEqual([]);
});

type Credentials = Readonly<Record<"apiKey" | "apiSecret" | "apiPassphrase", string>>;

test("keys are shown once, kept for their owner alone, and taken and given up by a server that runs", async () => {
  await using database = await testDatabase();
  await using folder = await temporaryFolder();
  const options = { env: { DATABASE_URL: database.url }, cwd: folder.path };
  const keys = (...args: readonly string[]) => runCli(["mirror-keys", ...args], options);
  await using serving = await startCli(["serve", "--port", "0"], options);
  const [url] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:\d+/);
  await serving.seen(
    "stderr",
    /no client has a key yet: bill-sync mirror-keys add NAME makes one\n/,
  );

  const added = await keys("add", "bot", "--product", "USDT-FUTURES", "--json");
  expect(added).toMatchObject({ code: 0 });
  const credentials: Credentials = JSON.parse(added.stdout);
  expect(Object.keys(credentials)).toEqual(["apiKey", "apiSecret", "apiPassphrase"]);
  const path = join(folder.path, "mirror-keys.json");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const listed = await keys("list", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject({
    keys: [{ name: "bot", account: "main", productTypes: ["USDT-FUTURES"], incomplete: "refuse" }],
  });
  const secrets = [credentials.apiSecret, credentials.apiPassphrase];
  for (const secret of secrets) expect(listed.stdout + listed.stderr).not.toContain(secret);

  await sleep(1_100);
  // The key is accepted, and the answer says that nothing is stored.
  expect(await askServer(url, credentials)).toMatchObject({ code: "40725" });
  expect(await askServer(url, { ...credentials, apiSecret: "x" })).toMatchObject({ code: "40009" });
  const ofExchange = { ...credentials, apiKey: "bg_0123456789abcdef" };
  expect((await askServer(url, ofExchange)).msg).toContain("never one of the exchange");

  expect(await keys("remove", "bots")).toMatchObject({
    code: 2,
    stderr: "there is no key bots, did you mean bot?\n",
  });
  expect(await keys("remove", "bot")).toMatchObject({ code: 0 });
  await sleep(1_100);
  expect(await askServer(url, credentials)).toMatchObject({ code: "40037" });
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ keys: [] });

  serving.kill("SIGTERM");
  const { stderr } = await serving.ended;
  for (const secret of secrets) expect(stderr).not.toContain(secret);
  expect(stderr).not.toContain(credentials.apiKey);
  await chmod(path, 0o644);
  expect(await keys("list")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/other users may read it; run chmod 600/),
  });
});

const key = aMirrorKey("main");

/** The codes of ten such answers, requested at the same time with a valid key. */
async function codesOf(url: string): Promise<string[]> {
  const asked = Array.from({ length: 10 }, () => askServer(url, key));
  return [...new Set((await Promise.all(asked)).map(({ code }) => code))];
}

/** A ledger of the last hour that was read to its end. */
async function storeHour(url: string): Promise<void> {
  const ledger = { account: "main", productType: "USDT-FUTURES" } as const;
  const at = Date.now();
  await using tables = openDatabase(url);
  await storeBills(tables.db, ledger, bills(150, { cTime: epochMs(at - minuteMs) }));
  await coverLedger(tables.db, ledger, at - hourMs, at);
}

test("a database that is stopped, and one that crashes, costs the requests of that time alone", async () => {
  await using server = await throwawayServer();
  await migrateAt(server.url);
  await storeHour(server.url);
  await using folder = await temporaryFolder();
  await changeKeys(join(folder.path, "mirror-keys.json"), () => [key]);
  const options = { env: { DATABASE_URL: server.url }, cwd: folder.path };
  await using serving = await startCli(["serve", "--port", "0"], options);
  const [url] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:\d+/);
  const codes = () => codesOf(url);
  const readiness = async () => {
    const paths = ["/readyz", "/healthz", "/metrics"];
    const answers = await Promise.all(paths.map((path) => fetch(`${url}${path}`)));
    return answers.map(({ status }) => status);
  };
  expect([await codes(), await readiness()]).toEqual([["00000"], [200, 200, 200]]);
  for (const mode of ["fast", "immediate"] as const) {
    const meanwhile = codes();
    await server.stop(mode);
    expect(["00000", "40725"]).toEqual(expect.arrayContaining(await meanwhile));
    expect([await codes(), await readiness()]).toEqual([["40725"], [503, 200, 503]]);
    await server.start();
    expect([await codes(), await readiness()]).toEqual([["00000"], [200, 200, 200]]);
  }
});

test("a key is of one account that is known, and its name is used once", async () => {
  await using folder = await temporaryFolder();
  await using database = await testDatabase();
  const options = { env: { DATABASE_URL: database.url }, cwd: folder.path };
  const add = (...args: readonly string[]) => runCli(["mirror-keys", "add", ...args], options);
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [["a", "--account", "main", "other"], /too many arguments for 'add'/],
    [["a", "--account", "mian"], /^there is no account mian, did you mean main\?/],
    [["a b"], /^"a b" is not a key's name: 1 to 64 letters/],
    [["a", "--trim", "--allow-incomplete"], /cannot be used with option/],
    [["a", "--product", "USDT-FUTURE"], /did you mean USDT-FUTURES\?/],
  ];
  for (const [args, message] of wrong)
    expect(await add(...args)).toMatchObject({
      ...{ code: 2, stdout: "", stderr: expect.stringMatching(message) },
    });
  expect(await add("a", "--trim")).toMatchObject({ code: 0 });
  // At the same time, no key takes another one's place.
  const names = ["b", "c", "d", "e"];
  const [removed, ...added] = await Promise.all([
    runCli(["mirror-keys", "remove", "a"], options),
    ...names.map((name) => add(name)),
  ]);
  expect([removed, ...added].map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  const path = join(folder.path, "mirror-keys.json");
  expect(
    readKeys(path)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(names);
  expect(await readdir(folder.path)).toEqual(["mirror-keys.json"]);
  expect(await add("a")).toMatchObject({ code: 0 });
  expect(await add("a")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^there is a key a/),
  });
});
