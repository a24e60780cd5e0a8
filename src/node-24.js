// Plain JavaScript, so that a Node that cannot run the rest can hand over to one that can.
// By itself, `node src/node-24.js FILE ARGUMENT…` runs a JavaScript file on Node 24.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const nodeMin = 24;

/**
 * npm 11 puts this Node first on the PATH of a script; npm 10 removes its link together with
 * the package for the other processor.
 */
function findBundled() {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    // In a clone it lies below, in an installed package beside.
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(manifest), "bin", "node");
  } catch {
    return undefined;
  }
}

/**
 * Imports a module on Node 24 or newer: in this process, or in one of the bundled Node.
 * @param args what another process of Node is to run.
 */
export async function runOnNode24(path, args = process.argv.slice(1)) {
  if (Number(process.versions.node.split(".")[0]) >= nodeMin) {
    await endWithLauncher();
    await import(pathToFileURL(path).href);
    return;
  }
  const bundled = findBundled();
  if (bundled !== undefined && existsSync(bundled)) {
    // The program itself and not what it imports, for what it does before.
    await handOver(bundled, [...process.execArgv, ...args]);
  } else {
    process.stderr.write(
      `bill-sync needs Node ${nodeMin} or newer, and this is ${process.versions.node}.\n` +
        "On Linux (x64, arm64) npm ci brings its own; elsewhere, install Node 24 from https://nodejs.org.\n",
    );
    process.exit(2);
  }
}

// Says that the launcher holds the other end of the child's fourth descriptor. It closes however the
// launcher ends, by SIGKILL or for want of memory, too.
const launched = "BILL_SYNC_LAUNCHED";
const pipeFd = 3;

async function handOver(bundled, args) {
  const { spawn } = await import("node:child_process");
  const child = spawn(bundled, args, {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...process.env, [launched]: "yes" },
  });
  child.stdio[pipeFd].on("error", () => undefined);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("exit", (code, signal) => {
    // 128 and its number is how a shell tells of a signal; 1 says only that it did not end well.
    process.exit(code ?? (signal === "SIGKILL" ? 137 : 1));
  });
}

async function endWithLauncher() {
  if (process.env[launched] === undefined) return;
  delete process.env[launched];
  const { Socket } = await import("node:net");
  // As if the launcher had passed on a signal: the page in hand is finished.
  const end = () => process.kill(process.pid, "SIGTERM");
  new Socket({ fd: pipeFd })
    .on("error", () => undefined)
    .on("close", end)
    .resume()
    .unref();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(1);
  const [file] = process.argv.splice(2, 1);
  process.argv[1] = file;
  await runOnNode24(file, args);
}
