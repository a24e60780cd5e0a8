import { isoTime } from "../../contract/time.ts";
import type { ReportedWallet } from "../../export/reported-wallets.ts";
import type { Rejected, ReportedBreak, Restatement } from "./month-report.ts";

// The tables below the figures, as rows of text. Text and HTML share them.

export const titles = {
  rejected: ["rejected", "bill", "where", "fault", "digest"],
  restatements: ["replaced", "bill", "revision", "what changed"],
  breaks: ["number", "state", "kind", "coin", "happened", "off by", "explanation", "note"],
} as const;

export const rejectedRow = (row: Rejected): readonly string[] => [
  row.rejectedAt,
  row.billId ?? "-",
  row.faultPath,
  row.fault,
  row.digest,
];

export const restatementRow = ({
  replacedAt,
  billId,
  revision,
  changes,
}: Restatement): readonly string[] => [
  replacedAt,
  billId,
  String(revision),
  changes
    .map((change) => `${change.field}: ${change.old ?? "none"} → ${change.new ?? "none"}`)
    .join("; "),
];

export const breakRow = (row: ReportedBreak): readonly string[] => [
  `#${row.breakId}`,
  row.state === "explained" ? "signed off" : "OPEN",
  row.kind,
  row.coin || "-",
  row.happenedAt ?? "-",
  row.difference ?? "-",
  row.explanation,
  row.state === "explained"
    ? `${row.note ?? ""} (${[row.signedOffBy, row.signedOffAt].filter(Boolean).join(", ")})`.trim()
    : "-",
];

/** The command that exports the bills of the digest, for a POSIX shell. */
export const exportOf = ({ account, productTypes }: ReportedWallet, month: string): string =>
  [
    `npm run --silent export -- --format csv --account ${quoted(account)}`,
    ...productTypes.map((productType) => `--product ${quoted(productType)}`),
    `--month ${month}`,
  ].join(" ");

/** A sentence on a wallet that is no longer read; empty for any other. */
export const closedText = ({ closedAt }: ReportedWallet): string =>
  closedAt === undefined
    ? ""
    : `closed ${isoTime(closedAt)}: the account changed its kind then; what was left in this ` +
      "wallet is not carried over to another wallet";

const quoted = (word: string): string =>
  /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
