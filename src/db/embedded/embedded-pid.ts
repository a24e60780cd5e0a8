import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, unless } from "./embedded-binaries.ts";

// What Postgres itself writes of the server that holds the data: postmaster.pid.

const pidOfNobody = 2 ** 31 - 1;

/**
 * Postgres takes any live process with the number in postmaster.pid for the server of the data.
 * That is wrong for a killed server that nobody has reaped (a container whose first process is
 * no init keeps it for good), for another program that was given the number, and in a copy of
 * the data. The number is replaced, not the file removed: the shared memory key in it still
 * tells of backends left behind, and of a server whose directory was renamed. Written through
 * the descriptor that was read, so that a server that starts meanwhile keeps its own file.
 */
export async function disownStranger(dir: string): Promise<void> {
  const dataDir = join(dir, "data");
  const file = await open(join(dataDir, "postmaster.pid"), "r+").catch(unless("ENOENT"));
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

/** The port of the server that holds the data, as it says itself; it may be gone since. */
export async function servingPort(dir: string): Promise<number | undefined> {
  const text = await readFile(join(dir, "data/postmaster.pid"), "utf8").catch((error) => {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  });
  const port = Number(text.split("\n")[3] ?? "");
  return Number.isInteger(port) && port > 0 ? port : undefined;
}
