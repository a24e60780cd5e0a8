// Builds what a package holds: JavaScript and declarations of src, and the files that it reads.
// A clone needs none of it: Node runs the TypeScript as it is.
import { execFileSync } from "node:child_process";
import { cpSync, globSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));

// A module that was removed from src must not stay in a package.
rmSync(join(root, "dist"), { recursive: true, force: true });
execFileSync(
  process.execPath,
  [join(typescript, "bin", "tsc"), "--project", join(root, "tsconfig.build.json")],
  { cwd: root, stdio: "inherit" },
);
for (const path of globSync("{**/*.sql,wings/serve/page/assets/*}", { cwd: join(root, "src") })) {
  cpSync(join(root, "src", path), join(root, "dist", path));
}
