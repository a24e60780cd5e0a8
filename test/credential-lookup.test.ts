// An account's credentials come from a file of its own or from a command, looked up each time, and no failure
// shows what was read.

import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { UsageError } from "../src/errors.ts";
import { type AccountSettings, withCredentials } from "../src/roster/account.ts";
import { readConfig } from "../src/roster/config.ts";
import { outputOf } from "../src/roster/credentials.ts";
import { temporaryFolder } from "./support/cli.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

const signal = AbortSignal.timeout(60_000);
const node = process.execPath;
/** A command that runs this JavaScript. */
const script = (text: string, ...args: readonly string[]) => ["-e", text, ...args];
const command = (text: string, ...args: readonly string[]) => ({
  command: [node, ...script(text, ...args)],
});
const keys = { apiKey: "key-1", apiSecret: "secret-1", apiPassphrase: "passphrase-1" };
const shown = ({ credentials }: Awaited<ReturnType<typeof withCredentials>>) => ({
  apiKey: credentials.key.reveal(),
  apiSecret: credentials.secret.reveal(),
  apiPassphrase: credentials.passphrase.reveal(),
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder.path, name);
  await writeFile(path, JSON.stringify(content), { mode: 0o600 });
  return path;
}

const environmentOf = (path: string) => ({ ACCOUNTS_FILE: path, DESK: "from-variable" });

const namesIn = (path: string) =>
  readConfig(environmentOf(path), { credentials: false, accounts: [] }).accountNames;

/** @param settings of an account that is in the table but not in the file. */
async function lookUp(path: string, name: string, settings?: AccountSettings) {
  const config = readConfig(environmentOf(path), { credentials: true, accounts: [name] });
  const configured = config.accounts.find((account) => account.name === name);
  const account = configured ?? (settings && config.addedAccount?.(settings));
  if (account === undefined) throw new Error(`there is no account ${name}`);
  return withCredentials(account, signal);
}

/** Prints the three credentials of the account that its argument names, as JSON. */
const printsAll = command(
  "const a = process.argv[1]; process.stdout.write(JSON.stringify(" +
    "{apiKey: 'key of ' + a, apiSecret: 's', apiPassphrase: {env: 'DESK'}}))",
  "{account}",
);

test("a credential is what a command writes, without its line's end, whatever stands for the others", async () => {
  const apiSecret = command("console.log('from ' + process.argv[1])", "{account}");
  await writeFile(join(folder.path, "pass"), "from file\n");
  const entry = {
    name: "main",
    apiKey: { env: "DESK" },
    apiSecret,
    apiPassphrase: { file: "pass" },
  };
  const path = await file("each.json", { accounts: [entry] });
  expect(shown(await lookUp(path, "main"))).toEqual({
    apiKey: "from-variable",
    apiSecret: "from main",
    apiPassphrase: "from file",
  });
});

test("one command tells all three, of an account in the list and of one that was added", async () => {
  const path = await file("all.json", {
    accounts: [{ name: "own", ...keys }, { name: "main" }],
    credentials: printsAll,
  });
  expect(namesIn(path)).toEqual(["own", "main"]);
  expect(shown(await lookUp(path, "own"))).toEqual(keys);
  const settings = { name: "added", productTypes: undefined };
  for (const [name, given] of [
    ["main", undefined],
    ["added", settings],
  ] as const) {
    expect(shown(await lookUp(path, name, given))).toEqual({
      apiKey: `key of ${name}`,
      apiSecret: "s",
      apiPassphrase: "from-variable",
    });
  }
});

test("a directory has a file an account, of which only the one that is asked for is read, each time anew", async () => {
  const directory = join(folder.path, "mounted");
  await mkdir(join(directory, "..data"), { recursive: true });
  const put = (name: string, content: string) =>
    writeFile(join(directory, `${name}.json`), content, { mode: 0o600 });
  await put("fund-1", JSON.stringify({ ...keys, productTypes: ["USDT-FUTURES"] }));
  await put("fund-2", JSON.stringify({ credentials: printsAll }));
  await put("broken", "{");
  expect(namesIn(directory)).toEqual(["broken", "fund-1", "fund-2"]);
  const first = await lookUp(directory, "fund-1");
  expect(first).toMatchObject({ name: "fund-1", productTypes: ["USDT-FUTURES"] });
  expect(shown(first)).toEqual(keys);
  expect(shown(await lookUp(directory, "fund-2")).apiKey).toBe("key of fund-2");
  await put("fund-1", JSON.stringify({ ...keys, apiKey: "key-2" }));
  expect(shown(await lookUp(directory, "fund-1")).apiKey).toBe("key-2");
  await expect(lookUp(directory, "broken")).rejects.toThrow("broken.json: is not JSON");
  // If the whole file is read, each fault is reported.
  const environment = { ACCOUNTS_FILE: directory };
  expect(() => readConfig(environment, { credentials: true })).toThrow("broken.json: is not JSON");
  const needs = { credentials: true, accounts: ["fund-1"] };
  await chmod(join(directory, "fund-1.json"), 0o644);
  expect(readConfig(environment, needs).warnings).toEqual([
    expect.stringMatching(/mounted\/fund-1\.json holds credentials, and other users may read/),
  ]);
});

test.each(["--help", "-rf", "..", ".git"])(
  "no credentials are looked up by the name %s, which may stand in the table",
  async (name) => {
    const path = await file("table.json", { credentials: printsAll });
    await expect(lookUp(path, name, { name, productTypes: undefined })).rejects.toThrow(
      /are not looked up, since a name is 1 to 64 .*accounts rename -- /,
    );
  },
);

const secret = "s3cret-that-nobody-may-see";
const failures: readonly (readonly [string, readonly string[], string])[] = [
  [
    "ends with a failure",
    script(`console.log('${secret}'); console.error('${secret}'); process.exit(3)`),
    "ended with code 3",
  ],
  [
    "is killed",
    script(`console.log('${secret}'); process.kill(process.pid, 'SIGKILL')`),
    "ended with SIGKILL",
  ],
  [
    "writes without end",
    script(`for (;;) process.stdout.write('${secret}'.repeat(1000))`),
    "wrote more than 65536 bytes",
  ],
  [
    "hangs",
    script(`console.log('${secret}'); setTimeout(() => {}, 60_000)`),
    "did not end within 0.4 s",
  ],
];

test.each(failures)(
  "a command that %s is named with its account, and its output is not shown",
  async (_, args, what) => {
    const failed = outputOf("main", [node, ...args], {
      signal,
      maxMs: what.includes("0.4") ? 400 : 30_000,
    });
    const error: unknown = await failed.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    const { message, stack } = error as UsageError;
    expect(message).toContain(
      `account main: the command ${node}, which prints its credentials, ${what}`,
    );
    expect(`${message}${stack}${JSON.stringify(error)}`).not.toContain(secret);
  },
);

test("a program that is not there, and an answer that is not JSON, are told so, and no shell is asked", async () => {
  await expect(outputOf("main", ["/no/such $(touch x)"], { signal })).rejects.toThrow(
    "cannot be started (ENOENT)",
  );
  const path = await file("no-json.json", {
    accounts: [{ name: "main", credentials: command(`console.log('${secret}')`) }],
  });
  const error: unknown = await lookUp(path, "main").catch((thrown: unknown) => thrown);
  expect((error as Error).message).toBe(
    'account main: what its command writes is not JSON with "apiKey", "apiSecret", "apiPassphrase"',
  );
});

test("what a command started ends with it when the user stops, and with the time that it has", async () => {
  const mark = join(folder.path, "alive");
  const child = `setInterval(() => require('node:fs').writeFileSync('${mark}', String(Date.now())), 20)`;
  const parent = script(
    `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], {stdio: 'inherit'})`,
  );
  const stop = new AbortController();
  const running = outputOf("main", [node, ...parent], { signal: stop.signal });
  const ended = expect(running).rejects.toThrow("stopped here");
  while ((await readFile(mark, "utf8").catch(() => "")) === "") await sleep(10);
  stop.abort(new Error("stopped here"));
  await ended;
  await sleep(100);
  await rm(mark, { force: true });
  await sleep(300);
  expect(await readFile(mark, "utf8").catch(() => "gone")).toBe("gone");
});
