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
  complete through  no bill up to this time is missing that was there when it
                    was read
Below it, how many spot pairs and futures contracts are new, changed, gone, or
listed again; and each risk unit's loan-to-value, and whether it has changed.

--account and --product choose the accounts and product types, --only chooses
among bills, ltv, symbols and contracts. The last two need no API key. Contracts
are read of the product types that are configured or chosen.

An API key that is new for an account must serve bills that are stored of that
account; otherwise nothing is written. Where all stored bills are too old to be
read again, the key is taken, with a notice. --new-key takes it in any case.`;

export const distributeHelp = `
On a database with the extension Citus: the tables of accounts are divided by
account and lie beside each other, business_types is on every node, and all
other tables stay on the coordinator. What lies there already stays, so that it
may be run again: after an update it lays new tables. Stop syncs and workers
meanwhile; tables that hold rows are locked while these are sent.`;

export const statusHelp = `
For each product type:
  complete through  no bill up to this time is missing that was there when it
                    was read
  coverage          the share that was read and stored of all the time since
                    the start of the first sync's 90 days
  settling          the newest time that was read; the next sync reads it
                    again, for bills that appear late
  behind            how long ago the newest time lies that was read
  gaps              time that an interrupted or failed sync has not read; the
                    next sync reads it
  lost              time that no sync read before the exchange deleted its
                    bills, after 90 days
  expires in        when the oldest time that is not complete begins to be lost
The time is the exchange's: what it told the last sync, plus the time since.
A retired account or product type has one line, which says so, and so has a
paused account: it is not read, and the exchange forgets its bills all the same.
Of more than a hundred ledgers only sums and the worst hundred are shown, unless
--limit says otherwise; --json has all, or the worst 10,000.
Below it, how many breaks are open, and how old the symbols, contracts and each
risk unit's loan-to-value are.

--check exits with 1 where a rule of ops/alerts.yaml would fire, and names it:
no sync yet, complete time older than --max-age, less than 7 days until time
expires, time lost within a day, rejected rows, open breaks, a loan-to-value
above --max-ltv or older than --max-age.`;

export const exportHelp = `
For each format:
${formatNames.map((name) => `  ${name.padEnd(10)} ${aboutFormat(name)}`).join("\n")}

The bills are those of one moment, in the order of account, product type, time
and, within a millisecond, of the balance; a unified account's product types go
together, as one wallet. --from is inclusive, --to exclusive; a date is its
midnight in UTC, or in --time-zone. Without --to an export ends where each
ledger was read completely. A file is there as a whole or not at all.

--continue TIME writes a journal to be appended to earlier ones, the first of
which began at TIME, or with the first bill: together they are one journal.
--changed-since TIME takes the bills whose ingested_at is not before it: those
that are new and those that were restated.

Warnings about bills that may be missing go to standard error; the exit code
stays 0, since all stored bills were written. status shows more.`;

export const reportHelp = `
For each account and product type, as of one moment: which part of the month
was read and what proves it; opening, what each category moved, what is
unexplained, and closing of each coin; rejected rows, restatements, open and
signed-off breaks with their notes; versions; and a SHA-256 over the month's
bills, with the line of shell that computes it again from the exported CSV.

What is missing or not settled yet stands at the top. Exit code 0 where the
report was written. html is one file without scripts, ready to print:
report --month 2026-10 --format html > 2026-10.html`;

export const doctorHelp = `
One line a check: ok, warn (it works, but needs a look) or FAIL, with a remedy.
doctor sends the exchange one request for its time and, for each account, one
for what its key may do, one for a single bill of each product type and one for
each loan-to-value record that is asked for. What the key of a classic account
may do the exchange may not tell. A key is not tried while a sync of its account
runs; a sync that begins meanwhile leaves doctor a share of the rate limit.
Exit code 1 where a check failed.`;

export const sandboxHelp = `
A classic account is served by the v2 API, a unified one by v3, and each is
refused by the other. An upgrading one is classic, in transit for a minute, and
unified then. A demo one has a key of demo trading. Several, such as --mode
classic unified upgrading demo, are printed as what ACCOUNTS_FILE names.

With --faults it refuses, delays and cuts requests, sends wrong answers and is
away for minutes, always so that a client can recover. Each fault is printed to
standard error with the number of the request for bills that it hit. A sync
against it may end with code 1; run again often enough, it must be complete.
Some bills are restated after a minute, and some appear a second, an hour or 8
days late: verify finds and heals those that are later than a sync's settle lag.`;

export const verifyHelp = `
The bills of the span, --from inclusive and --to exclusive, are read from the
exchange again and compared field by field with those that are stored:
  missing   served, and not stored
  changed   stored with other content: each field, old and new
  extra     stored, and not served: expired (older than the exchange's 90 days
            by now), late (made or stored after the reading began) or unknown
  rejected  rows that broke the API's contract
Times are ISO 8601; a date alone is midnight UTC. --heal writes what is missing,
restates what is changed and keeps rejected rows in rejected_bills; it deletes
nothing. It may run beside a sync of the account: it takes a fifth of the
account's requests a second, which the sync leaves free. It also counts the
stored bills of what it read, and corrects the number that status shows.
Exit code 0 where all bills are equal or healed, 1 where a difference remains.`;

export const replayHelp = `
Reads each unresolved row of rejected_bills again, as this version reads rows. A
row that can be read now is stored as a bill and resolved:
  new        bills that were not stored
  unchanged  bills that are stored with the same content
  restated   bills that were stored with older content; bill_revisions keeps it
  outdated   rows older than their stored bill, which stays as it is
  left       rows that still break the API's contract, with where and how
Exit code 0 where none is left. No request is sent to the exchange. To sign off
a row for good: --accept with its digest, and --note with the reason.`;

export const backupHelp = `
The file holds all tables of the ledger as they were at one moment, gzipped and
readable by its owner only: bills, checkpoints, records, runs, breaks, and the
fingerprints of the API keys, never the keys; the leases of running syncs are
left out. A sync may run meanwhile. The file can be restored into any Postgres
from 14 on, also of another version, and into the embedded one. It is written
whole or not at all. --check reads a file and compares its digests; it needs no
database.
Exit code 0 where the file was written or, with --check, is intact.`;

export const restoreHelp = `
The database must be empty, or migrated by the same version and without rows.
All rows are inserted, compared with the file's counts and digests, and
committed in one transaction; where anything differs, nothing is changed. A file
of an older version is migrated afterwards. The next sync reads what came since.`;

export const typesHelp = `
Categories: transfer, trade, liquidation, funding, margin, bonus, copy,
delivery, interest, conversion, spot, loan, fees, unknown. A type that is not
listed is unknown until you map it; its bills are in the column "unmapped" of
the rollforwards. Views, exports and reconcile use the same categories; after a
change reconcile checks all bills again.`;

export const serveHelp = `
Clients of the exchange read from it what is stored, with a key of its own: the
same paths, fields and digits, and spans of any length and age. It only reads,
and listens on this machine alone unless --host says otherwise. Where no sync
has read for --max-age, /readyz says so, and the newest time is refused.
Prints its address; each request is a line of the log on standard error.`;

export const metricsHelp = `
For each account and product type: through when it is complete, when its oldest
missing time expires, its gaps, bills, rejected rows and breaks; and the runs,
by what the database knows, whoever ran them. What is not known has no sample.
--textfile replaces the file whole or not at all, for node_exporter's textfile
collector; its name must end in .prom. Where the database is away, the file
stays as it was, and the exit code is 1. Where only some accounts' rows cannot
be read, it is written without them, names them, and the exit code is 1, too.
serve has the same at /metrics.`;

export const workerHelp = `
A worker takes accounts from the queue that enqueue and schedule fill, and syncs
each as sync does. An account's job is tried again, a little later each time,
where it failed in a way that may pass; after that status lists it as failed,
until a later round is done with it. A worker that is killed loses its accounts
to others within 20 s. Ctrl-C and SIGTERM finish the pages in hand and give
the jobs back; a second one ends at once. Both are safe.

Workers that send from one address must share its limit: those of one machine
do, unless each has an --address of its own; those of several machines behind
one address do where each is given the same --egress. doctor tells of workers
that seem to share an address and do not know of each other.`;
