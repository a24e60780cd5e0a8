import { printable, printableJson } from "../printable.ts";

/** What a command has of its process. Results go to `out`, everything else to `err`. */
export type Io = {
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** Aborts with a StoppedError when the user asks the command to stop. */
  readonly signal: AbortSignal;
  /** Told of a result that could not be written: the command has failed then, whatever it did. */
  readonly lost: (error: Error) => void;
};

/** 0 done and complete · 1 not complete · 2 wrong usage or config · 3 another run is at work */
export type ExitCode = 0 | 1 | 2 | 3;

/** A result. */
export const print = (io: Io, text: string): void => {
  io.out.write(`${printable(text)}\n`, (error) => {
    if (error) io.lost(error);
  });
};

/** What a person is told of work that is done: the work is no failure where that cannot be written. */
export const printSummary = (io: Pick<Io, "out">, text: string): void => {
  io.out.write(`${printable(text)}\n`);
};

/** What is said beside the results. */
export const tell = (io: Pick<Io, "err">, message: string): void => {
  io.err.write(`${printable(message)}\n`);
};

/** Those that have got their document. */
const answered = new WeakSet<NodeJS.WriteStream>();

export const printJson = (io: Io, value: unknown): void => {
  answered.add(io.out);
  print(io, printableJson(JSON.stringify(value, null, 2)));
};

/** Whether JSON was printed: whoever asked for it parses one document. */
export const hasPrintedJson = (io: Io): boolean => answered.has(io.out);
