/** One piece of a worker's work: the sync or the check of one account, or the public lists. */
export type Task =
  | { readonly account: string }
  | { readonly reconcile: string }
  | { readonly lists: true };

/** A task on its way into the queue. */
export type QueuedTask = {
  readonly task: Task;
  /** The highest priority goes first. */
  readonly priority: number;
  /**
   * Tasks of one group run one after the other. Accounts of one user of the exchange share a group.
   */
  readonly group: string;
};

/** A task that this process fetched. */
export type Job = {
  readonly id: string;
  /** How often the task was tried before. It tells this try from a later one. */
  readonly retryCount: number;
  readonly task: Task;
};

/** How a job ended. */
export type JobEnd =
  | { readonly is: "done" }
  /** Another try may succeed. */
  | { readonly is: "failed"; readonly why: string }
  /** Another try fails as well until somebody acts. */
  | { readonly is: "hopeless"; readonly why: string }
  /** The job was stopped, and another worker continues it. */
  | { readonly is: "given back" };

// Account names contain no colon, so these keys cannot be an account's.
const listsKey = ":lists";
const reconcilePrefix = ":reconcile ";

/** A task's key. The queue never holds two tasks of the same key. */
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

/** The account that a task is about; undefined for the public lists. */
export function accountOf(task: Task): string | undefined {
  if ("account" in task) return task.account;
  return "reconcile" in task ? task.reconcile : undefined;
}

export function taskName(task: Task): string {
  if ("account" in task) return task.account;
  return "reconcile" in task ? `reconcile of ${task.reconcile}` : "symbols and contracts";
}
