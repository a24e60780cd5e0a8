import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { accountBills } from "../../src/core/contract/account-bills.ts";
import { signature } from "../../src/core/contract/signature.ts";
import { changeKeys, type MirrorKey, newKey } from "../../src/wings/serve/mirror/key-file.ts";
import { nodeFlags } from "./node-flags.ts";
import type { BenchDatabase } from "./postgres.ts";
import { processCpuMs } from "./server-cpu.ts";

// A key has 100 requests a second, so the requests rotate over the keys.
const keyCount = 200;

export type Serving = AsyncDisposable & {
  /**
   * Reads a page of USDT-FUTURES.
   * @throws if the answer is not a page.
   */
  askPage(page: { readonly limit: number; readonly idLessThan: string | undefined }): Promise<void>;
  residentMiB(): Promise<number>;
  cpuMs(): number;
};

/** The real program, in a process of its own. */
export async function startServe({ url }: BenchDatabase): Promise<Serving> {
  const folder = await mkdtemp(join(tmpdir(), "bill-sync-bench-serve-"));
  const keys = Array.from({ length: keyCount }, (_, index) =>
    newKey(
      { name: String(index), account: "main", productTypes: undefined, incomplete: "refuse" },
      new Date(),
    ),
  );
  await changeKeys(join(folder, "mirror-keys.json"), () => keys);
  const program = new URL("../../src/bin.js", import.meta.url).pathname;
  const child = spawn(process.execPath, [...nodeFlags, program, "serve", "--port", "0"], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: url, LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const base = line.toString().trim();
  const agent = new Agent({ connections: 64 });
  let asked = 0;
  return {
    async askPage(page) {
      const key = keys[asked++ % keyCount];
      if (key !== undefined) await askPage(agent, base, key, page);
    },
    async residentMiB() {
      const status = await readFile(`/proc/${child.pid}/status`, "utf8");
      return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
    },
    cpuMs: () => processCpuMs(child.pid),
    async [Symbol.asyncDispose]() {
      await agent.close();
      child.kill("SIGTERM");
      await once(child, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

async function askPage(
  agent: Agent,
  base: string,
  key: MirrorKey,
  { limit, idLessThan }: Parameters<Serving["askPage"]>[0],
): Promise<void> {
  const { path } = accountBills;
  const timestamp = String(Date.now());
  const query = {
    ...(idLessThan !== undefined && { idLessThan }),
    limit: String(limit),
    productType: "USDT-FUTURES",
  };
  const { statusCode, body } = await request(`${base}${path}?${new URLSearchParams(query)}`, {
    dispatcher: agent,
    headers: {
      "access-key": key.apiKey,
      "access-sign": signature(key.apiSecret, { timestamp, path, query }),
      "access-passphrase": key.apiPassphrase,
      "access-timestamp": timestamp,
    },
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`defect: the mirror answered ${statusCode} ${text}`);
}
