// Preloaded into the program by NODE_OPTIONS: ends its process with SIGKILL at its KILL_AT-th
// point. Each statement has two points, before it is sent and once it is under way; each
// request has two, before it is sent and once its answer is in.
import { subscribe } from "node:diagnostics_channel";
import pg from "pg";

const killAt = Number(process.env["KILL_AT"]);
let points = 0;

function point(): void {
  points += 1;
  if (points === killAt) process.kill(process.pid, "SIGKILL");
}

const send = pg.Client.prototype.query;
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  point();
  const answer: unknown = Reflect.apply(send, this, given);
  // By then the statement is with the operating system, and its answer is not back.
  setImmediate(point);
  return answer;
} as typeof send;

subscribe("undici:request:create", point);
subscribe("undici:request:trailers", point);
