// Plain JavaScript like what imports it: it runs before anything else is loaded, on any Node.
import module from "node:module";
import { fileURLToPath } from "node:url";

// Compiled code, so that the next start takes half of the time. It lies beside the code and not in
// the folder for temporary files, where another user could put some in. Where it cannot be written,
// each start compiles.
const compileCache = fileURLToPath(new URL("../node_modules/.cache/bill-sync", import.meta.url));

// Drizzle's ES modules take 0.5 s of CPU and 220 MiB to load: for each of some hundred files Node
// parses its package.json anew, of 179 kB. Its CommonJS build, which is the same, takes 0.05 s and
// 25 MiB.
//
// A relative import of a .ts file is that file: without Node's search for it a command loads a tenth faster. zod
// loads its messages in 50 languages, of which English is asked for: that is 60 files.
function resolve(specifier, context, nextResolve) {
  if (specifier.startsWith(".") && specifier.endsWith(".ts")) {
    const { href } = new URL(specifier, context.parentURL);
    return { url: href, format: "module-typescript", shortCircuit: true };
  }
  if (specifier === "../locales/index.js" && context.parentURL.includes("/zod/"))
    return nextResolve("../locales/en.js", context);
  const isDrizzle = specifier === "drizzle-orm" || specifier.startsWith("drizzle-orm/");
  return nextResolve(specifier, isDrizzle ? { ...context, conditions: ["node", "require"] } : {});
}

// Neither is there before Node 24, which runs no more than the search for a newer one.
module.enableCompileCache?.(compileCache);
module.registerHooks?.({ resolve });
