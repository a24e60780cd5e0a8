import { readFileSync } from "node:fs";
import type { Client } from "pg";

const nsAMs = 1e6;

/**
 * CPU milliseconds so far of the server processes that serve this connection's database, including
 * this connection's own. Other work of the machine is not included. NaN if the server is on another
 * machine.
 */
export async function serverCpuMs(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database()",
  );
  return rows.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
}

/** Of the process that serves this connection; needs no query. */
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

/** Of all threads of a process, to 10 ms. NaN if it is on another machine. */
export function processCpuMs(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The 12th and 13th field after the name: the time in user mode and in the kernel.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) / ticksASecond) * 1_000;
  } catch {
    return Number.NaN;
  }
}
