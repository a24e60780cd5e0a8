import { type Html, html } from "../html.ts";
import { percent, pixels, plotHeight, plotTop } from "./plot.ts";
import type { ValueAxis } from "./value-axis.ts";

/**
 * A line of steps: each value holds for its whole stretch, and a missing value breaks the line. The
 * area down to zero is filled if the axis includes zero.
 */
export function stepShapes(values: readonly (number | undefined)[], axis: ValueAxis): Html {
  const runs = runsOf(values);
  const heightOf = (value: number) => Math.round(axis.heightOf(value) * 1e4) / 10;
  const line = ({ start, values: run }: Run) =>
    run
      .map(
        (value, index) =>
          `${index === 0 ? `M${start} ` : "V"}${heightOf(value)}H${start + index + 1}`,
      )
      .join("");
  const zero = heightOf(0);
  const areas = runs.map((run) => `${line(run)}V${zero}H${run.start}Z`).join("");
  // The drawing is stretched to the page's width; its strokes keep their width.
  return html`<svg x="0" y="${plotTop}" width="100%" height="${plotHeight}" viewBox="0 0 ${values.length} 1000" preserveAspectRatio="none">
${axis.hasZero ? html`<path class="area" d="${areas}"/>` : ""}
<path class="line" vector-effect="non-scaling-stroke" d="${runs.map(line).join("")}"/></svg>`;
}

type Run = { readonly start: number; readonly values: readonly number[] };

function runsOf(values: readonly (number | undefined)[]): readonly Run[] {
  const runs: { start: number; values: number[] }[] = [];
  values.forEach((value, index) => {
    if (value === undefined) return;
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.values.length === index) last.values.push(value);
    else runs.push({ start: index, values: [value] });
  });
  return runs;
}

const gap = 0.12;

/** One bar per stretch, up or down from zero. */
export function barShapes(values: readonly (number | undefined)[], axis: ValueAxis): Html {
  const zero = axis.heightOf(0);
  const bars = values.map((value, index) => {
    if (value === undefined || value === 0) return "";
    const at = axis.heightOf(value);
    const [top, bottom] = [pixels(Math.min(at, zero)), pixels(Math.max(at, zero))];
    return html`<rect class="bar-${value < 0 ? "out" : "in"}" x="${percent((index + gap) / values.length)}" width="${percent((1 - 2 * gap) / values.length)}" y="${top}" height="${Math.max(1, Math.round((bottom - top) * 10) / 10)}"/>`;
  });
  return html`${bars}<line class="base" x1="0" x2="100%" y1="${pixels(zero)}" y2="${pixels(zero)}"/>`;
}
