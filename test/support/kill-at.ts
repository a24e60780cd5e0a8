// Preloaded into the program by NODE_OPTIONS: ends its process with SIGKILL at the point that
// KILL_AT names, or writes the names of all its points into the file KILL_POINTS_FILE at its end.
// Each statement has two points, before it is sent and once it is under way; each request has
// two, before it is sent and once its answer is in. A point's name is what it is at, and which
// of these it is: "sent: select … #3".
import { subscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import pg from "pg";

const killAt = process.env["KILL_AT"];
const pointsFile = process.env["KILL_POINTS_FILE"];
const counts = new Map<string, number>();
const points: string[] = [];

function point(kind: string): void {
  const count = (counts.get(kind) ?? 0) + 1;
  counts.set(kind, count);
  const name = `${kind} #${count}`;
  if (name === killAt) process.kill(process.pid, "SIGKILL");
  points.push(name);
}

if (pointsFile !== undefined)
  process.on("exit", () => writeFileSync(pointsFile, JSON.stringify(points)));

const send = pg.Client.prototype.query;
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const statement = textOf(given[0]);
  point(`before: ${statement}`);
  const answer: unknown = Reflect.apply(send, this, given);
  // By then the statement is with the operating system, and its answer is not back.
  setImmediate(() => point(`under way: ${statement}`));
  return answer;
} as typeof send;

/**
 * The statement without the parts that differ from run to run, such as the numbers of savepoints.
 */
function textOf(given: unknown): string {
  const isObject = typeof given === "object" && given !== null && "text" in given;
  const text = isObject ? given.text : given;
  return String(text).replaceAll(/\s+/g, " ").replaceAll(/\d+/g, "0").slice(0, 200);
}

type Request = { readonly path: string };
const pathOf = (message: unknown) =>
  (message as { readonly request: Request }).request.path.split("?")[0];

subscribe("undici:request:create", (message) => point(`before: ${pathOf(message)}`));
subscribe("undici:request:trailers", (message) => point(`answered: ${pathOf(message)}`));
