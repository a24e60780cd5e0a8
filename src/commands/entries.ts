import type { Define } from "./options.ts";

type Entry = readonly [about: string, load: () => Promise<{ readonly define: Define }>];

/** Every command. The file of each has its options and its work. Only the typed one is loaded: all take half a second. */
export const entries: Readonly<Record<string, Entry>> = {
  demo: ["sync a sandbox exchange and show the result", () => import("./demo.ts")],
  doctor: ["check everything that sync needs; say what to do", () => import("./doctor.ts")],
  sync: ["fetch what is unread, up to now; run it from cron", () => import("./sync.ts")],
  status: ["show what is wrong, and how far each ledger is", () => import("./status.ts")],
  verify: ["read a span again and compare it with what is stored", () => import("./verify.ts")],
  reconcile: ["check that the ledger adds up", () => import("./reconcile.ts")],
  breaks: ["list, accept or reopen breaks and rejected rows", () => import("./breaks.ts")],
  export: ["write the stored bills for another program", () => import("./export.ts")],
  report: ["write a month's close for an auditor", () => import("./report.ts")],
  serve: ["answer the exchange's API from what is stored", () => import("./serve.ts")],
  accounts: ["list, add, pause, retire or rename accounts", () => import("./accounts.ts")],
  keys: ["add, list or remove keys for clients of serve", () => import("./keys.ts")],
  types: ["list the categories of business types, or map one", () => import("./types.ts")],
  db: ["migrate, back up, restore or distribute the database", () => import("./db.ts")],
  worker: ["sync every account again and again, until Ctrl-C", () => import("./worker.ts")],
  sandbox: ["run a sandbox exchange until Ctrl-C", () => import("./sandbox.ts")],
};
