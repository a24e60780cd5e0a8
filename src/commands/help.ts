// What --help says below the options.

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
Below it, the spot pairs: new, changed, returned after they were gone, and gone;
and each risk unit's loan-to-value, and whether it is as it was.

--account and --product narrow what is synced of accounts, --only the parts of
the sync: bills, ltv and symbols. --only symbols needs no API key.`;

export const statusHelp = `
For each product type:
  complete through  no bill up to this time is missing that was there when it
                    was read
  coverage          the share of its time, from the first sync's 90 days on,
                    that is complete
  gaps              time still to be fetched: the newest, which every sync reads
                    again, and what an interrupted sync left
  lost              time that the exchange forgot, after 90 days, before it was
                    fetched
  expires in        when the oldest gap begins to be lost
Below it, how old the symbols and each risk unit's loan-to-value are.`;

export const exportHelp = `
For each format:
  csv        RFC 4180, the columns of the table bills, as text
  parquet    the same, with DECIMAL(38, 18) and UTC milliseconds
  hledger    a journal, one transaction a bill, a balance assertion a day
  beancount  the same
  ccxt       a JSON array of ccxt's ledger entries, one a line, numbers as text
  koinly     Koinly's universal CSV

The bills are those of one moment, in the order of account, product type, time
and id. --from belongs to the time, --to does not; a date is its midnight in
UTC. A file is there as a whole or not at all.

What may be missing is told on standard error, and leaves the exit code at 0:
all that is stored is there. status says more.`;

export const doctorHelp = `
One line a check: ok, warn (it works, and yet look at it) or FAIL, with what to
do. It sends the exchange one request for its time and, for each account, one
for a single bill and one for each loan-to-value record that is asked for. A key
is not tried while a run holds its account; a sync that begins leaves it room.
Exit code 1 where a check failed.`;

export const sandboxHelp = `
With --faults it refuses, delays, cuts, lies and is away for minutes, in every
way that a client can come through. Each fault is told on standard error with
the number of the request for bills that it met. A sync against it may end with
code 1, and must be complete when it was run again often enough. Some of its
bills are restated after a minute, and some appear late, by a second, an hour
or 8 days: what comes later than a sync's settle lag, verify finds and heals.`;

export const verifyHelp = `
The bills of the span, from --from up to and without --to, are read from the
exchange again and compared field by field with those that are stored:
  missing   served, and not stored
  changed   stored with another content: each field, old and new
  extra     stored, and not served: expired (behind the exchange's 90 days by
            now), late (made or stored after the reading began) or unknown
  rejected  rows that broke the API's contract
Times are ISO 8601; a date alone is midnight UTC. --heal writes what is missing,
restates what is changed and keeps rejected rows in rejected_bills; it deletes
nothing. It may run beside a sync of the account: it takes 2 of the 10 requests
a second, and the sync leaves it those.
Exit code 0 where all is equal or healed, 1 where a difference remains.`;

export const replayHelp = `
Each row of rejected_bills that is not resolved is read again, as this version
reads. What can be read now is put among the bills, and the row is resolved:
  new        bills that were not stored
  unchanged  bills that are stored like that
  restated   bills that were stored with older content; bill_revisions keeps it
  outdated   rows older than what is stored of their bill, which stays
  left       rows that still break the API's contract, with where and how
Exit code 0 where none is left. The exchange is not asked. To accept a row for
good, set its resolved_at.`;
