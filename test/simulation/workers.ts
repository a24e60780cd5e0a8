import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Done, Task } from "./worker.ts";

const program = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** A process that does one task after the other; ends with its scope. */
export type Worker = Disposable & { work(task: Task): Promise<Done> };

/** @param mutant the name of the broken program that it runs. */
export function startWorker(databaseUrl: string, mutant?: string): Worker {
  const child: ChildProcess = fork(
    program,
    [databaseUrl, ...(mutant === undefined ? [] : [mutant])],
    // In a process group of its own: a Ctrl-C goes to this process, which ends the workers in
    // order.
    { execArgv: ["--no-warnings"], detached: true },
  );
  const died = once(child, "exit").then(([code]) => {
    throw new Error(`a worker of the simulation ended with code ${code}`);
  });
  died.catch(() => undefined);
  return {
    async work(task) {
      const answer = once(child, "message");
      child.send(task);
      const [done] = await Promise.race([answer, died]);
      return done as Done;
    },
    [Symbol.dispose]() {
      child.kill();
    },
  };
}

/** Gives each worker the next task when it has finished one. */
export async function workOff(
  workers: readonly Worker[],
  tasks: Iterable<Task>,
  onDone: (done: Done) => void,
): Promise<void> {
  const next = tasks[Symbol.iterator]();
  const drain = async (worker: Worker): Promise<void> => {
    for (let task = next.next(); !task.done; task = next.next()) {
      onDone(await worker.work(task.value));
    }
  };
  await Promise.all(workers.map(drain));
}
