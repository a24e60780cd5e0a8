import { open, readFile } from "node:fs/promises";
import { unless } from "./embedded-tools.ts";

// postmaster.pid and the socket's lock are written by the server that holds the data. Both begin with its
// process's number and its data's path.

const pidOfNobody = 2 ** 31 - 1;

/**
 * Makes a lock file name no process where the process that it names is not the server of this data.
 * Postgres takes any live process of that number for the server, and would not start. That process is
 * not the server in three cases: it is a killed server that nobody has reaped (in a container without
 * an init, for good), another program that was given the number, or the data is a copy.
 *
 * The file is not removed: by the shared memory key in postmaster.pid, Postgres finds orphaned backends, and a
 * server whose directory was renamed. It is written through the descriptor that was read, so that a
 * server that starts meanwhile keeps its own file.
 */
export async function disownStranger(lock: string, dataDir: string): Promise<void> {
  const file = await open(lock, "r+").catch(unless("ENOENT"));
  if (file === undefined) return;
  try {
    const [pid, servedDir, ...others] = (await file.readFile("utf8")).split("\n");
    // "PID (command) state …": absent for a pid that is gone, and elsewhere than on Linux.
    const found = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const isServer = found === "" || /^\d+ \(postgres\) [^ZX]/.test(found);
    if (servedDir === undefined || (isServer && servedDir === dataDir)) return;
    await file.write([pidOfNobody, servedDir, ...others].join("\n"), 0);
  } finally {
    await file.close();
  }
}
