import type { TestProject } from "vitest/node";
import { builtProgram } from "./built-program.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of a built bin.js, to be run by Node. */
    program: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  project.provide("program", await builtProgram());
}
