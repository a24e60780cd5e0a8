#!/usr/bin/env node
import "./fast-start.js";
import { fileURLToPath } from "node:url";
import { runOnNode24 } from "./node-24.js";

await runOnNode24(fileURLToPath(new URL("cli.ts", import.meta.url)));
