/** Where the queue's tables are. */
export const queueSchema = "fleet";
/** The queue of jobs that were given up. */
export const failedQueue = "failed";
