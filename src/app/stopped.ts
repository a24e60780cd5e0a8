import { once } from "node:events";
import { hourMs } from "../contract/time.ts";

/**
 * Resolves on Ctrl-C. A pending promise alone does not keep the process alive, but a timer does.
 */
export async function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, hourMs);
  await once(signal, "abort");
  clearInterval(alive);
}
