import { inspect } from "node:util";

const mask = "[secret]";

/**
 * A credential that no log, error, JSON or template string shows by accident. Only
 * {@link Secret.reveal} gives it out, and only code that signs or connects calls that.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
