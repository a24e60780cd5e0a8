import { printable, printableJson } from "../printable.ts";

/** What a command has of its process. Results go to `out`, everything else to `err`. */
export type Io = {
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  /** Aborts with a StoppedError when the user asks the command to stop. */
  readonly signal: AbortSignal;
};

/** 0 done and complete · 1 not complete · 2 wrong usage or config · 3 another run is at work */
export type ExitCode = 0 | 1 | 2 | 3;

export const print = (io: Io, text: string): void => {
  io.out.write(`${printable(text)}\n`);
};

/** What is said beside the results. */
export const tell = (io: Pick<Io, "err">, message: string): void => {
  io.err.write(`${printable(message)}\n`);
};

export const printJson = (io: Io, value: unknown): void =>
  print(io, printableJson(JSON.stringify(value, null, 2)));
