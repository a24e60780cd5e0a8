import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type Browser, chromium } from "playwright-core";

// The browser of `npm ci`: the package has Chromium for Linux x64, its libraries and fonts.
const { resolve } = createRequire(import.meta.url);
const home = join(dirname(resolve("@sparticuz/chromium")), "..");
const packed = join(home, "bin");
const manifest = readFileSync(join(home, "package.json"), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };

/** The browser that TEST_BROWSER names, else the one of `npm ci`. */
export async function openBrowser(): Promise<Browser> {
  const installed = process.env["TEST_BROWSER"];
  if (installed !== undefined) return await chromium.launch({ executablePath: installed });
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("the tests of the page need a Chromium: name it in TEST_BROWSER");
  const folder = await unpacked();
  return await chromium.launch({
    executablePath: join(folder, "chromium"),
    // It runs as root in a container, and opens only pages of the tests.
    args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      LD_LIBRARY_PATH: join(folder, "lib"),
      FONTCONFIG_FILE: join(folder, "fonts.conf"),
    },
  });
}

/** Unpacked once for each clone, since that takes some seconds. */
async function unpacked(): Promise<string> {
  const folder = join(home, "..", "..", ".cache", `chromium-${version}`);
  if (existsSync(folder)) return folder;
  const made = `${folder}-${randomUUID()}`;
  await mkdir(made, { recursive: true, mode: 0o700 });
  const read = (name: string) => brotliDecompressSync(readFileSync(join(packed, name)));
  for (const name of ["al2023.tar.br", "fonts.tar.br"])
    execFileSync("tar", ["-x", "-C", made], { input: read(name) });
  await writeFile(join(made, "chromium"), read("chromium.br"), { mode: 0o700 });
  // Without fonts no text is drawn, and checks of the layout find nothing wrong.
  await writeFile(
    join(made, "fonts.conf"),
    `<fontconfig><dir>${folder}</dir><cachedir>${folder}/font-cache</cachedir></fontconfig>`,
  );
  await rename(made, folder).catch(async (error: unknown) => {
    await rm(made, { recursive: true, force: true });
    // Another process was first.
    if (!existsSync(folder)) throw error;
  });
  return folder;
}
