// Preloaded into the program: writes what its process took to the file that USAGE_FILE names.
import { writeFileSync } from "node:fs";

process.on("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeFileSync(process.env.USAGE_FILE, JSON.stringify({ userCPUTime, systemCPUTime, maxRSS }));
});
