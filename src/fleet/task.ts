/** What a worker does in one piece: the sync or the check of one account, or the public lists. */
export type Task =
  | { readonly account: string }
  | { readonly reconcile: string }
  | { readonly lists: true };

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

// No account can be called so: a colon is in none of their names.
const listsKey = ":lists";
const reconcilePrefix = ":reconcile ";

/** What a task is known by: two tasks of one key are never in the queue together. */
export function keyOf(task: Task): string {
  if ("account" in task) return task.account;
  return "reconcile" in task ? reconcilePrefix + task.reconcile : listsKey;
}

export function taskOf(key: string): Task {
  if (key === listsKey) return { lists: true };
  return key.startsWith(reconcilePrefix)
    ? { reconcile: key.slice(reconcilePrefix.length) }
    : { account: key };
}

export function taskName(task: Task): string {
  if ("account" in task) return task.account;
  return "reconcile" in task ? `reconcile of ${task.reconcile}` : "symbols and contracts";
}
