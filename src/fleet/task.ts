/** What a worker does in one piece: one account, or the public lists of symbols and contracts. */
export type Task = { readonly account: string } | { readonly lists: true };

/** A task on its way into the queue. */
export type QueuedTask = {
  readonly task: Task;
  /** The greatest goes first. */
  readonly priority: number;
  /** Tasks of one group are done one after the other: accounts of one user of the exchange. */
  readonly group: string;
};

/** A task that this process fetched. */
export type Job = {
  readonly id: string;
  /** How often it was tried before, which tells this try from a later one. */
  readonly retryCount: number;
  readonly task: Task;
};

/** How a job ended. */
export type JobEnd =
  | { readonly is: "done" }
  /** Another try may help. */
  | { readonly is: "failed"; readonly why: string }
  /** Somebody must do something first. */
  | { readonly is: "hopeless"; readonly why: string }
  /** It was stopped: another worker goes on. */
  | { readonly is: "given back" };

/** No account can be called so: a colon is in none of their names. */
const listsKey = ":lists";

/** What a task is known by: two tasks of one key are never in the queue together. */
export const keyOf = (task: Task): string => ("account" in task ? task.account : listsKey);

export const taskOf = (key: string): Task =>
  key === listsKey ? { lists: true } : { account: key };

export const taskName = (task: Task): string =>
  "account" in task ? task.account : "symbols and contracts";
