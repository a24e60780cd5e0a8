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
  complete through  no bill up to this time is missing
Below it, the spot pairs: new, changed, returned after they were gone, and gone;
and each risk unit's loan-to-value, and whether it is as it was.

--account and --product narrow what is synced of accounts, --only the parts of
the sync: bills, ltv and symbols. --only symbols needs no API key.`;

export const statusHelp = `
For each product type:
  complete through  no bill up to this time is missing
  coverage          the share of its time, from the first sync's 90 days on,
                    that is complete
  gaps              time still to be fetched: the newest, which every sync reads
                    again, and what an interrupted sync left
  lost              time that the exchange forgot, after 90 days, before it was
                    fetched
  expires in        when the oldest gap begins to be lost
Below it, how old the symbols and each risk unit's loan-to-value are.`;

export const doctorHelp = `
One line a check: ok, warn (it works, and yet look at it) or FAIL, with what to
do. It sends the exchange one request for its time and, for each account, one
for a single bill and one for each loan-to-value record that is asked for.
Exit code 1 where a check failed.`;

export const sandboxHelp = `
With --faults it refuses, delays, cuts, lies and is away for minutes, in every
way that a client can come through. Each fault is told on standard error with
the number of the request for bills that it met. A sync against it may end with
code 1, and must be complete when it was run again often enough.`;
