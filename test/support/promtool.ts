import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Whether Prometheus's own tool is installed; in Debian it is in the package prometheus. */
export const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;

export const alertRules = fileURLToPath(new URL("../../ops/alerts.yaml", import.meta.url));

/** The output of promtool, and its exit code. */
export function promtool(
  args: readonly string[],
  input = "",
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const child = execFile("promtool", args, { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
    child.stdin?.end(input);
  });
}

/** A sample of the text format: its name and labels, and its value. */
type Sample = { readonly series: string; readonly value: string };

const samplesOf = (text: string): readonly Sample[] =>
  text.split("\n").flatMap((line) => {
    const [, series, value] = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    return series === undefined || value === undefined ? [] : [{ series, value }];
  });

/** The values of one metric by its labels, as the text format writes them: `account="main"`. */
export const seriesOf = (text: string, name: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    samplesOf(text).flatMap(({ series, value }) => {
      const [, own, labels = ""] = /^([a-z_]+)(?:\{(.*)\})?$/.exec(series) ?? [];
      return own === name ? [[labels, Number(value)]] : [];
    }),
  );

/**
 * What is stored, as its metrics, and the alerts that should fire for it: each name and its labels.
 */
type RuleCase = {
  readonly name: string;
  readonly text: string;
  readonly firing: readonly (readonly [string, Readonly<Record<string, string>>])[];
};

/** The rules without their annotations, which promtool would compare, too. */
async function bareRules(): Promise<string> {
  const lines = (await readFile(alertRules, "utf8")).split("\n");
  let isLeftOut = false;
  return lines
    .filter((line) => {
      if (/^ {8}\S/.test(line)) isLeftOut = /^ {8}(annotations|labels):/.test(line);
      if (/^ {0,7}\S/.test(line)) isLeftOut = false;
      return !isLeftOut;
    })
    .join("\n");
}

/**
 * Asks Prometheus's own engine which rules fire at `evalSeconds` since 1970, if the samples were
 * the same all the time before.
 * @returns "as expected", or the output of promtool.
 */
export async function judgeRules(
  cases: readonly RuleCase[],
  evalSeconds: number,
  alertNames: readonly string[],
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-rules-"));
  try {
    await writeFile(join(folder, "rules.yaml"), await bareRules());
    const test = {
      rule_files: ["rules.yaml"],
      evaluation_interval: "1m",
      tests: cases.map(({ name, text, firing }) => ({
        name,
        interval: "1m",
        input_series: samplesOf(text).map(({ series, value }) => ({
          series,
          values: `${value}x${Math.ceil(evalSeconds / 60)}`,
        })),
        alert_rule_test: alertNames.map((alertname) => ({
          eval_time: `${evalSeconds}s`,
          alertname,
          exp_alerts: firing
            .filter(([own]) => own === alertname)
            .map(([, labels]) => ({
              // In Prometheus, an empty label is the same as none.
              exp_labels: Object.fromEntries(Object.entries(labels).filter(([, value]) => value)),
            })),
        })),
      })),
    };
    const path = join(folder, "rules.test.yaml");
    // JSON is YAML.
    await writeFile(path, JSON.stringify(test));
    const { code, output } = await promtool(["test", "rules", path]);
    return code === 0 ? "as expected" : output;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
