import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { readConfig } from "../../src/accounts/config.ts";
import type { Environment } from "../../src/accounts/settings.ts";
import type { ExportedBill } from "../../src/books/export/exported-bill.ts";
import { type FormatName, formatOf } from "../../src/books/export/formats.ts";
import { type BillSelection, readBills } from "../../src/books/export/read-bills.ts";
import { type ExportFlags, exportCommand, exportOptions } from "../../src/commands/export.ts";
import type { Io } from "../../src/commands/io.ts";
import type { Bill } from "../../src/core/contract/bill.ts";
import { classicProductTypes } from "../../src/core/contract/product-types.ts";
import { type Database, inSnapshot } from "../../src/core/postgres/connect.ts";
import type { AccountBills } from "../../src/wings/sandbox/ledger.ts";
import { billAt } from "./bills.ts";
import { servedBills, storeBills } from "./stored-ledger.ts";

/** Stores a sandbox's whole ledger as it would be served. */
export async function storeLedger(
  db: Database,
  account: string,
  ledger: AccountBills,
): Promise<void> {
  for (const productType of classicProductTypes)
    await storeBills(db, { account, productType }, servedBills(ledger, productType));
}

/** 80 real bills with their balances, in their true order; their ids are made up, in that order. */
export function realBills(): readonly Bill[] {
  const lines = readFileSync(
    new URL("../fixtures/real-ledger-2025-02.tsv", import.meta.url),
    "utf8",
  )
    .split("\n")
    .filter((line) => /^\d/.test(line));
  return lines.map((line, index) => {
    const [time = "", businessType = "", amount = "", fee = "", balance = ""] = line.split("\t");
    const symbol = businessType.startsWith("trans_") ? null : "BTCUSDT";
    return billAt(Date.parse(`${time}Z`), index, { symbol, businessType, amount, fee, balance });
  });
}

/** The export of these bills, as bytes. */
export async function exported(
  db: Database,
  format: FormatName,
  selection: BillSelection = {},
): Promise<Buffer> {
  const write = await formatOf(format).load();
  return inSnapshot(db, async (tx) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of write(readBills(tx, selection))) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  });
}

/** The output and notices of the command, run in this process. */
export async function exportedByCommand(
  env: Environment,
  words: ExportFlags,
  isTTY = false,
): Promise<{ readonly out: string; readonly err: string }> {
  const written = { out: "", err: "" };
  const sink = (name: keyof typeof written) =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write(chunk, _encoding, done) {
          written[name] += chunk;
          done();
        },
      }),
      { isTTY },
    ) as unknown as NodeJS.WriteStream;
  const io: Io = {
    out: sink("out"),
    err: sink("err"),
    signal: new AbortController().signal,
    onOutputError: (error) => {
      throw error;
    },
    wings: {},
  };
  await exportCommand(readConfig(env, { credentials: false }), io, exportOptions(words));
  return written;
}

/** The selected bills. */
export async function selected(db: Database, selection: BillSelection): Promise<ExportedBill[]> {
  return inSnapshot(db, async (tx) => (await Array.fromAsync(readBills(tx, selection))).flat());
}
