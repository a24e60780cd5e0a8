#!/usr/bin/env node
// Plain JavaScript, so that a Node that cannot run the rest can still say so.
const nodeMin = 24;
const major = Number(process.versions.node.split(".")[0]);

if (major < nodeMin) {
  process.stderr.write(
    `bill-sync needs Node ${nodeMin} or newer, and this is ${process.versions.node}.\n` +
      "On Linux (x64, arm64) npm ci brings its own: start it by npm run NAME or npm exec bill-sync NAME.\n" +
      "Elsewhere, install Node 24 from https://nodejs.org.\n",
  );
  process.exit(2);
}
await import("./cli.ts");
