import { aboutFormat, formatNames } from "../../export/formats.ts";

// Shown by --help below the options.

export const programHelp = `
Exit codes: 0 done and complete, 1 not complete, 2 wrong usage or configuration,
3 another run holds the account.`;

export const syncHelp = `
The summary counts, for each product type:
  new               bills stored for the first time
  unchanged         bills served again as they are stored
  restated          bills served with other content; bill_revisions keeps what
                    it replaced
  rejected          rows that broke the API's contract; rejected_bills keeps
                    them as served
  complete through  up to this time no bill is missing that the exchange showed
                    when the time was read
Below the table it says how many spot pairs and futures contracts are new,
changed, gone or listed again, and what each risk unit's loan-to-value is.

--account and --product choose the accounts and product types, --only chooses
among bills, ltv, symbols and contracts. The last two need no API key. Contracts
are read for the product types that are configured or chosen.

A new API key of an account must serve bills that are stored for this account.
If it does not, nothing is written. If all stored bills are too old to be read
again, the key is accepted, with a notice. --new-key skips this check.`;

export const distributeHelp = `
On a database with the extension Citus, this puts all rows of an account on one
node. business_types is copied to every node; all other tables stay on the
coordinator. Tables that are distributed already stay as they are. Run it again
after an update, which may bring new tables. Stop syncs and workers first: a
table that holds rows is locked while they are sent.`;

export const statusHelp = `
For each product type:
  complete through  up to this time no bill is missing that the exchange showed
                    when the time was read
  coverage          the share that was read and stored of all the time since
                    the start of the first sync's 90 days
  settling          the newest time that was read; the next sync reads it
                    again, for bills that appear late
  behind            how old the newest time is that was read
  gaps              time that an interrupted or failed sync has not read; the
                    next sync reads it
  lost              time that no sync read before the exchange deleted its
                    bills, after 90 days
  expires in        when the oldest time that is not complete begins to be lost
The time is the exchange's: what it told the last sync, plus the time since.
A retired or paused account has one line that says so. No sync reads it. The
exchange deletes the bills of a paused account after 90 days even so.
With more than a hundred ledgers, only sums and the worst hundred are shown,
unless --limit says otherwise; --json has all, or the worst 10,000.
Below the table it says how many breaks are open, and how old the symbols, the
contracts and each risk unit's loan-to-value are.

--check exits with 1 where a rule of ops/alerts.yaml would fire, and names it:
no sync yet, complete time older than --max-age, less than 7 days until time
expires, time lost within a day, rejected rows, open breaks, a loan-to-value
above --max-ltv or older than --max-age.`;

export const exportHelp = `
For each format:
${formatNames.map((name) => `  ${name.padEnd(10)} ${aboutFormat(name)}`).join("\n")}

The bills are those of one moment, in the order of account, wallet, time and,
within a millisecond, of the balance. A classic account has a wallet for each
product type, a unified account has one in all. --from is inclusive, --to
exclusive; a date means its midnight in UTC, or in --time-zone. Without --to, an
export ends at the time up to which each ledger was read completely. The file is
written whole or not at all.

--continue TIME writes a journal that is appended to earlier ones. The first of
them began at TIME or, without TIME, with the first bill. Together they are one
journal. --changed-since TIME takes the bills that were stored or restated since
TIME, by their ingested_at.

Warnings about bills that may be missing go to standard error; the exit code
stays 0, since all stored bills were written. status shows more.`;

export const reportHelp = `
For each account and product type, as of one moment, the report has: which part
of the month was read, and what proves it; the opening of each coin, what each
category moved, what is unexplained, and the closing; rejected rows,
restatements, and breaks, open or signed off, with their notes; versions; and a
SHA-256 over the month's bills, with the shell command that computes it from the
exported CSV.

What is missing or not settled yet stands at the top. The exit code is 0 if the
report was written. html is one file without scripts, ready to print:
report --month 2026-10 --format html > 2026-10.html`;

export const doctorHelp = `
One line a check: ok, warn (it works, but needs a look) or FAIL, with a remedy.
doctor sends the exchange one request for its time. For each account it sends
one for the rights of its key, one for a single bill of each product type, and
one for each loan-to-value record that is configured. The exchange may not tell
the rights of a classic account's key. doctor does not try a key while another
run holds its account, and says who. The exit code is 1 if a check failed.`;

export const sandboxHelp = `
A classic account is served by the v2 API, a unified one by v3, and each is
refused by the other. An upgrading one begins as classic, is in transit for a
minute, and is unified then. A demo one has a key for demo trading. If several
are named, such as --mode classic unified upgrading demo, they are printed as a
file for ACCOUNTS_FILE.`;

export const verifyHelp = `
verify reads the bills of the span, --from inclusive and --to exclusive, from
the exchange again, and compares them field by field with those that are stored:
  missing   served, and not stored
  changed   stored with other content: each field, old and new
  extra     stored, and not served: expired (older than the exchange's 90 days
            by now) or unknown
  rejected  rows that broke the API's contract
Times are ISO 8601; a date alone is midnight UTC. --heal writes what is missing,
restates what is changed and keeps rejected rows in rejected_bills; it deletes
nothing. It also counts the stored bills of what it read, and corrects the
number that status shows.
The exit code is 0 if all bills are equal or healed, 1 if a difference remains,
and 3 if another run holds the account.`;

export const replayHelp = `
Reads each unresolved row of rejected_bills again, as this version reads rows. A
row that can be read now is stored as a bill and resolved:
  new        bills that were not stored
  unchanged  bills that are stored with the same content
  restated   bills that were stored with older content; bill_revisions keeps it
  outdated   rows older than their stored bill, which stays as it is
  left       rows that still break the API's contract, with where and how
The exit code is 0 if none is left. No request is sent to the exchange. To sign
off a row for good, give --accept its digest, and --note the reason. The row is
then signed off in each account that has it: --account does not limit --accept.`;

export const backupHelp = `
The file holds all tables of the ledger as they were at one moment: bills,
checkpoints, records, runs, breaks, and the fingerprints of the API keys, never
the keys. It is gzipped and readable by its owner only. The leases of running
syncs are left out; a sync may run meanwhile. The file can be restored into any
Postgres from 14 on, also of another version, and into the embedded one. It is
written whole or not at all. --check reads a file and compares its digests; it
needs no database.
The exit code is 0 if the file was written or, with --check, is intact.`;

export const restoreHelp = `
The database must be empty, or migrated by the same version and without rows.
All rows are inserted, compared with the file's counts and digests, and
committed in one transaction; if anything differs, nothing is changed. A file of
an older version is migrated afterwards. The next sync reads what came since.`;

export const typesHelp = `
Categories: transfer, trade, liquidation, funding, margin, bonus, copy,
delivery, interest, conversion, spot, loan, fees, unknown. A type that is not
listed is unknown until you map it; its bills are in the column "unmapped" of
the rollforwards. Views, exports and reconcile use the same categories. After a
change, reconcile checks all bills again.`;

export const serveHelp = `
Clients of the exchange read what is stored from this server, with a key of its
own. Paths, fields and digits are the exchange's; spans may have any length and
age. The server only reads, and listens on this machine alone unless --host says
otherwise. If no sync has read for --max-age, /readyz says so, and requests for
the newest time are refused.
It prints its address. Each request is a line of the log on standard error.`;

export const metricsHelp = `
For each account and product type: through when it is complete, when its oldest
missing time expires, its gaps, bills, rejected rows and breaks. Also the last
runs. All of it comes from the database, whoever ran the syncs. A value that is
not known has no sample.
--textfile replaces the file whole or not at all, for node_exporter's textfile
collector; its name must end in .prom. If the database is away, the file stays
as it was, and the exit code is 1. If the rows of some accounts cannot be read,
the file is written without them, names them, and the exit code is 1, too.
serve has the same at /metrics.`;

export const workerHelp = `
A worker takes accounts from the queue that enqueue and schedule fill, and syncs
each as sync does. A job that failed in a way that may pass is tried again, each
time a little later. If it still fails, status lists it as failed until a later
round syncs the account. If a worker is killed, others take its accounts within
20 s. Ctrl-C and SIGTERM finish the pages in hand and give the jobs back; a
second one ends at once. Both are safe.

Workers that send from one address must share its rate limit. Workers of one
machine do, unless each has an --address of its own. Workers of several machines
behind one address do if each is given the same --egress. doctor names workers
that seem to share an address without sharing its limit.`;
