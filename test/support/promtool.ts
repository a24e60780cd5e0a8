import { execFile, spawnSync } from "node:child_process";
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
