// The files of ops/ for systemd and Kubernetes use existing commands and options, and what they mount.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { unitCommand, unitNames, unitText } from "./support/units.ts";

/** The options are read before the database, which does not exist. */
async function expectAccepted(args: readonly string[]): Promise<void> {
  const key = { EXCHANGE_API_KEY: "k", EXCHANGE_API_SECRET: "s", EXCHANGE_API_PASSPHRASE: "p" };
  const env = { ...key, DATABASE_URL: "postgres://user@127.0.0.1:1/none" };
  const end = await runCli(args, { env });
  expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
}

test("systemd's units run commands that there are, with options that they have, and systemd accepts them", async () => {
  expect(readdirSync("ops/systemd").toSorted()).toEqual(unitNames);
  const packageScripts = JSON.parse(readFileSync("package.json", "utf8")).scripts;
  await using folder = await temporaryFolder();
  for (const name of unitNames) {
    const { script, args } = unitCommand(name);
    expect(script).toBe(packageScripts[args[0] ?? ""]);
    await expectAccepted(args);
    if (spawnSync("systemd-analyze", ["--version"]).status !== 0) continue;
    // systemd checks whether the program exists.
    const text = unitText(name).replace("/usr/bin/node", process.execPath);
    const path = join(folder.path, name.replace("@", "@203.0.113.7"));
    for (const file of [path, join(folder.path, name)]) await writeFile(file, text);
    const told = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
    expect(told).toMatchObject({ status: 0, stderr: "" });
  }
});

type Named = { readonly name: string };
type Container = {
  readonly args: readonly string[];
  readonly env: readonly object[];
  readonly volumeMounts: readonly (Named & { readonly mountPath: string })[];
  readonly resources: { readonly limits: { readonly memory: string } };
};

test("Kubernetes' pods run commands that there are, with accounts from a volume that is mounted, and more memory than the heap may have", async () => {
  const documents = parseAllDocuments(readFileSync("ops/kubernetes/workers.yaml", "utf8"));
  expect(documents).toHaveLength(1);
  for (const document of documents) {
    const { selector, template } = document.toJS().spec;
    expect(template.metadata.labels).toEqual(selector.matchLabels);
    const { containers, volumes } = template.spec;
    const [{ args, env, volumeMounts, resources }]: readonly [Container] = containers;
    await expectAccepted(args);
    const [mount] = volumeMounts;
    expect(env).toEqual([{ name: "ACCOUNTS_FILE", value: `${mount?.mountPath}/accounts.json` }]);
    expect(volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }: Named) => name));
    const [, heap] = /--max-old-space-size=(\d+)/.exec(readFileSync("Dockerfile", "utf8")) ?? [];
    const [, memory] = /^(\d+)Mi$/.exec(resources.limits.memory) ?? [];
    expect(Number(memory)).toBeGreaterThan(Number(heap));
  }
});
