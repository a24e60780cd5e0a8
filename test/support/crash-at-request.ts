import { subscribe } from "node:diagnostics_channel";

// Preloaded into the program: makes it crash at its first signed request, in the way that CRASH
// names, with an error that refers to everything that the program holds.

type Request = { readonly headers: unknown; readonly origin: unknown };

const kind = process.env["CRASH"];
let isOver = false;

subscribe("undici:request:create", (message) => {
  const { request } = message as { readonly request: Request };
  if (isOver || !String(request.headers).toLowerCase().includes("access-sign")) return;
  isOver = true;
  const error = Object.assign(new Error("a defect", { cause: { headers: request.headers } }), {
    request,
    headers: request.headers,
    text: String(request.headers),
  });
  if (kind === "exception") setImmediate(() => crash(error));
  if (kind === "rejection") void Promise.reject(error);
  if (kind === "memory") setImmediate(exhaust);
});

function crash(error: Error): void {
  throw error;
}

function exhaust(): void {
  const kept: number[][] = [];
  for (;;) kept.push(new Array(100_000).fill(kept.length));
}
