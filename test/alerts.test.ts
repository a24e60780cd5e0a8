// The rules of ops/alerts.yaml fire for what status --check names, by the severity that each finding's metric has.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findingKinds } from "../src/check/health/finding-kinds.ts";
import { epochMs, hourMs } from "../src/lib/time.ts";
import { registryOf, type StoredMetrics } from "../src/wings/serve/registry.ts";
import { findingsTable } from "./support/docs-parts.ts";
import { alertRules, hasPromtool, promtool, seriesOf } from "./support/promtool.ts";

const now = epochMs(5 * hourMs);
const run = {
  command: "sync",
  outcome: "complete",
  at: (now - hourMs) / 1_000,
  duration: 12.5,
} as const;
const stored: StoredMetrics = {
  findings: [],
  totals: {
    ...{ accounts: 1, ledgers: 2, bills: 9, active: 2, retired: 0, ended: 0 },
    readThrough: now,
  },
  runs: [run],
  lists: [
    { list: "spot", entries: 1, gone: 0, readAt: now },
    { list: "USDT-FUTURES", entries: 1, gone: 0, readAt: now },
  ],
  loans: [
    {
      ...{ account: 'a"b\\c\nd', riskUnitId: "", ltv: "0.5", firstSeenAt: now, lastSeenAt: now },
      ...{ owed: null, collateral: null },
    },
  ],
};
const textOf = (changes: Partial<StoredMetrics> = {}) =>
  registryOf({ ...stored, ...changes }).metrics();
const withoutPromtool = "promtool is not installed: the alert rules were not judged";
const rules = ["BillSyncAbsent", "BillSyncCritical", "BillSyncWarning"];

test("a severity has one rule, which fires for each of its kinds", async () => {
  const text = readFileSync(alertRules, "utf8");
  const found = [...text.matchAll(/- alert: (\w+)\n +expr: (.*)\n +for: (.*)\n/g)];
  expect(found.map(([, ...rule]) => rule)).toEqual([
    ["BillSyncAbsent", "absent(bill_sync_findings)", "15m"],
    ["BillSyncCritical", 'bill_sync_findings{severity="critical"} > 0', "5m"],
    ["BillSyncWarning", 'bill_sync_findings{severity="warning"} > 0', "5m"],
  ]);
  const all = Object.entries(findingKinds).map(([name, { severity }]) => ({
    ...{ kind: name as keyof typeof findingKinds, severity },
  }));
  const counted = all.map(({ kind }) => ({ kind, findings: 2, ledgers: 1 }));
  const series = seriesOf(await textOf({ findings: counted }), "bill_sync_findings");
  for (const { kind, severity } of all)
    expect(series).toHaveProperty([`kind="${kind}",severity="${severity}"`], 2);
  if (!hasPromtool) return console.log(withoutPromtool);
  expect(await promtool(["check", "rules", "--lint-fatal", alertRules])).toMatchObject({ code: 0 });
});

test("the metrics have no sample of what is not known, 0 of what is known to be none, and a command's last run that came to an end", async () => {
  const running = { ...run, outcome: "running", duration: null } as const;
  const totals = { ...stored.totals, readThrough: undefined, bills: 0 };
  const none = await textOf({ totals, lists: [], loans: [], runs: [running] });
  expect(none).not.toMatch(/read_through|last_run_duration|list_read|ltv_ratio/);
  expect(seriesOf(none, "bill_sync_stored_bills")).toEqual({ "": 0 });
  expect(Object.values(seriesOf(none, "bill_sync_findings"))).toEqual(
    Object.keys(findingKinds).map(() => 0),
  );
  const at = (now - 1_000) / 1_000;
  const text = await textOf({
    runs: [
      ...[run, { ...run, command: "verify", duration: 0.5 }],
      { ...run, outcome: "failed", at, duration: 1.5 },
      { ...running, at: now / 1_000 },
    ],
  });
  expect(seriesOf(text, "bill_sync_last_run_timestamp_seconds")).toEqual({
    'command="sync",outcome="failed"': at,
    'command="sync",outcome="complete"': run.at,
    'command="sync",outcome="running"': now / 1_000,
    'command="verify",outcome="complete"': run.at,
  });
  expect(seriesOf(text, "bill_sync_last_run_duration_seconds")).toEqual({
    ...{ 'command="sync"': 1.5, 'command="verify"': 0.5 },
  });
  // A name's quotes, line ends and backslashes.
  expect(text).toContain('bill_sync_ltv_ratio{account="a\\"b\\\\c\\nd",risk_unit_id=""} 0.5');
  if (!hasPromtool) return console.log(withoutPromtool);
  expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
});

test("docs/reference.md names each metric with its labels, the findings and the alerts; ops/ asks for no other metrics", async () => {
  const page = readFileSync("docs/reference.md", "utf8");
  const documented = new Map(
    [...page.matchAll(/^\| `(bill_sync_[a-z_]+)` \| ([a-z_, ]*)\|/gm)].map(
      ([, name = "", labels = ""]) => [name, labels.split(/[, ]+/).filter(Boolean).toSorted()],
    ),
  );
  const printed = (await registryOf(stored).getMetricsAsJSON()).map(({ name, values }) => [
    ...[name, Object.keys(values[0]?.labels ?? {}).toSorted()],
  ]);
  const ofStored = [...documented].filter(([name]) => !/_(http|auth)_/.test(name));
  expect(ofStored.toSorted()).toEqual(printed.toSorted());
  expect(page).toContain(findingsTable());
  const [, section = ""] = /^## Alerts\n(.*?)^## /ms.exec(page) ?? [];
  expect([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)).toEqual(rules);
  for (const path of ["ops/alerts.yaml", "ops/dashboard.json"]) {
    const asked = readFileSync(path, "utf8").match(/\bbill_sync_[a-z_]+/g) ?? [];
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((name) => !documented.has(name.replace(/_bucket$/, "")))).toEqual([]);
  }
});
