// Plain JavaScript like what imports it: it runs before anything else is loaded, on any Node.
import module from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

// Compiled code, so that the next start takes half of the time. It lies beside the code and not in
// the folder for temporary files, where another user could put some in. Where it cannot be written,
// each start compiles.
const compileCache = fileURLToPath(new URL("../node_modules/.cache/bill-sync", import.meta.url));

// Drizzle's ES modules take 0.5 s of CPU and 220 MiB to load: for each of some hundred files Node
// parses its package.json anew, of 179 kB. Its CommonJS build, which is the same, takes 0.05 s and
// 25 MiB, if Node looks up only what is not a file beside, and that once: 80 of our files import it.
//
// A relative import of a .ts or .cjs file is that file: without Node's search for it a command loads a fifth faster.
// zod loads its messages in 50 languages, of which English is asked for: that is 60 files.
const formats = { ".ts": "module-typescript", ".cjs": "commonjs" };
const foundOfDrizzle = new Map();

function resolve(specifier, context, nextResolve) {
  const format = specifier.startsWith(".") ? formats[extname(specifier)] : undefined;
  if (format !== undefined)
    return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
  if (specifier === "../locales/index.js" && context.parentURL.includes("/zod/"))
    return nextResolve("../locales/en.js", context);
  // undici does without it where there is none, and is asked for HTTP/1.1 alone: 10 ms of CPU.
  if (specifier === "node:http2" && context.parentURL.includes("/undici/"))
    throw new Error("HTTP/2 is not used");
  if (specifier !== "drizzle-orm" && !specifier.startsWith("drizzle-orm/"))
    return nextResolve(specifier, context);
  const found =
    foundOfDrizzle.get(specifier) ??
    nextResolve(specifier, { ...context, conditions: ["node", "require"] });
  foundOfDrizzle.set(specifier, found);
  return { ...found, shortCircuit: true };
}

// Neither is there before Node 24, which runs no more than the search for a newer one.
module.enableCompileCache?.(compileCache);
module.registerHooks?.({ resolve });
