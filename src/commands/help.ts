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
  complete through  no bill up to this time is missing`;

export const statusHelp = `
For each product type:
  complete through  no bill up to this time is missing
  coverage          the share of its time, from the first sync's 90 days on,
                    that is complete
  gaps              time still to be fetched: the newest, which every sync reads
                    again, and what an interrupted sync left
  lost              time that the exchange forgot, after 90 days, before it was
                    fetched
  expires in        when the oldest gap begins to be lost`;

export const doctorHelp = `
One line a check: ok, warn (it works, and yet look at it) or FAIL, with remedy.
It asks the exchange for its time and, for each account, for a single bill of
live and of demo products and for each loan-to-value record that is wanted.
Exit code 1 where a check failed.`;
