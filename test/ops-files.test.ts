// The files of ops/ for systemd and Kubernetes use existing fields, commands and options; a stop ends in good
// order.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { unitCommand, unitNames, unitText } from "./support/units.ts";

/** The options are read before the database, which does not exist. */
async function expectAccepted(args: readonly string[]): Promise<void> {
  const end = await runCli(args, {
    env: { ...credentials, DATABASE_URL: "postgres://user@127.0.0.1:1/none" },
  });
  expect(end, end.stderr).toMatchObject({ code: 1 });
  expect(end.stderr).toContain("ECONNREFUSED");
}

const credentials = {
  EXCHANGE_API_KEY: "key",
  EXCHANGE_API_SECRET: "secret",
  EXCHANGE_API_PASSPHRASE: "passphrase",
};

const packageScripts = JSON.parse(readFileSync("package.json", "utf8")).scripts;
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

describe("systemd's units", () => {
  test("are those that are checked here", async () => {
    expect((await readdir("ops/systemd")).toSorted()).toEqual(unitNames);
  });

  test.each(unitNames)(
    "%s runs a command that there is, with options that it has",
    async (name) => {
      const { script, args } = unitCommand(name);
      expect(script).toBe(packageScripts[args[0] ?? ""]);
      await expectAccepted(args);
    },
  );

  test.each(unitNames)("%s names only what systemd knows", async (name) => {
    const directives = unitText(name)
      .split("\n")
      .filter((line) => /^[A-Z]/.test(line))
      .map((line) => line.split("=")[0]);
    expect(directives.filter((one = "") => !knownDirectives.includes(one))).toEqual([]);
    if (!hasSystemd) return;
    await using folder = await temporaryFolder();
    // systemd checks whether the program exists.
    const text = unitText(name).replace("/usr/bin/node", process.execPath);
    const path = join(folder.path, name.replace("@", "@203.0.113.7"));
    await writeFile(path, text);
    if (name.includes("@")) await writeFile(join(folder.path, name), text);
    const told = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
    expect(told).toMatchObject({ status: 0, stderr: "" });
  });
});

const knownDirectives = [
  ...["Description", "After", "Wants", "WantedBy"],
  ...["User", "WorkingDirectory", "EnvironmentFile", "ExecStart"],
  ...["KillMode", "TimeoutStopSec", "Restart", "RestartSec"],
];

type Container = {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources: { readonly limits: { readonly memory: string } };
};
type Deployment = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
};

const deployments = parseAllDocuments(readFileSync("ops/kubernetes/workers.yaml", "utf8")).map(
  (document) => document.toJS() as Deployment,
);

describe.each(deployments)("of Kubernetes, $metadata.name", (deployment) => {
  const { selector, template } = deployment.spec;
  const { containers, volumes } = template.spec;
  const [container] = containers;

  test("has only fields that a Deployment has, and selects its own pods", () => {
    const paths = new Set(pathsOf(deployment));
    expect([...paths].filter((path) => !knownPaths.includes(path))).toEqual([]);
    expect(template.metadata.labels).toEqual(selector.matchLabels);
  });

  test("runs a command that there is, with options that it has", async () => {
    await expectAccepted(container.args);
  });

  test("reads its accounts from a volume that it mounts", () => {
    const [{ mountPath } = { mountPath: "none" }] = container.volumeMounts;
    expect(container.env).toEqual([{ name: "ACCOUNTS_FILE", value: `${mountPath}/accounts.json` }]);
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
  });

  test("may have more memory than the image lets the heap grow to", () => {
    const [, heap] = /--max-old-space-size=(\d+)/.exec(readFileSync("Dockerfile", "utf8")) ?? [];
    const [, memory] = /^(\d+)Mi$/.exec(container.resources.limits.memory) ?? [];
    expect(Number(memory)).toBeGreaterThan(Number(heap));
  });
});

/** The fields of a value with their paths. The fields of a list's entries have the list's path. */
function pathsOf(value: unknown, way = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => pathsOf(one, way));
  if (typeof value !== "object" || value === null) return [way];
  return Object.entries(value).flatMap(([name, part]) => pathsOf(part, `${way}.${name}`));
}

const pod = ".spec.template.spec";
const knownPaths = [
  ...[".apiVersion", ".kind", ".metadata.name", ".spec.replicas"],
  ...[".spec.selector.matchLabels.app", ".spec.template.metadata.labels.app"],
  `${pod}.terminationGracePeriodSeconds`,
  ...["name", "image", "args"].map((name) => `${pod}.containers.${name}`),
  ...["name", "value"].map((name) => `${pod}.containers.env.${name}`),
  `${pod}.containers.envFrom.secretRef.name`,
  ...["name", "mountPath", "readOnly"].map((name) => `${pod}.containers.volumeMounts.${name}`),
  ...["requests.cpu", "requests.memory", "limits.memory"].map(
    (name) => `${pod}.containers.resources.${name}`,
  ),
  ...["name", "secret.secretName", "secret.defaultMode"].map((name) => `${pod}.volumes.${name}`),
  ...["runAsNonRoot", "runAsUser", "fsGroup"].map((name) => `${pod}.securityContext.${name}`),
];
