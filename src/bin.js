#!/usr/bin/env node
import "./fast-start.js";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runOnNode24 } from "./node-24.js";

// Before anything else: a crash report lists the environment, which holds the API's secret.
process.report.excludeEnv = true;
// What the driver will drop one day, a password file say, is no news to whoever reads cron's mail.
process.noDeprecation = true;

// A clone runs the source; a package holds what was built of it, since Node strips no types in
// node_modules.
const beside = (path) => fileURLToPath(new URL(path, import.meta.url));
const source = beside("cli.ts");
await runOnNode24(existsSync(source) ? source : beside("../dist/cli.js"));
