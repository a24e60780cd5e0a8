import { readFileSync } from "node:fs";
import type { Client } from "pg";

const nsAMs = 1e6;

/**
 * Milliseconds of CPU that those of the server's processes have taken so far which serve this
 * connection's database, this one included: what others do on the machine adds nothing to them. NaN
 * where the server is not on this machine.
 */
export async function serverCpuMs(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database()",
  );
  return rows.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
}

/** Of the process that serves this connection alone; no question is asked for it. */
export async function backendOf(client: Client): Promise<() => number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid ?? 0;
  return () => cpuMsOf(pid);
}

function cpuMsOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / nsAMs;
  } catch {
    return Number.NaN;
  }
}

const ticksASecond = 100;

/** Of all threads of a process, to 10 ms. NaN where it is not on this machine. */
export function processCpuMs(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Behind the name: the 12th and the 13th, in the kernel's and in its own code.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) / ticksASecond) * 1_000;
  } catch {
    return Number.NaN;
  }
}
