// undici by its files: as a whole it also loads fetch, WebSockets, caches and mocks, which are never called: 81 files and 81
// modules of Node, for 40 ms of CPU of 78.
import type { Dispatcher } from "undici";
import connect from "undici/lib/api/api-connect.js";
import ask from "undici/lib/api/api-request.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Pool from "undici/lib/dispatcher/pool.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";

export { Agent, type Dispatcher, ProxyAgent };

/** A proxy's connections, with the method that undici as a whole gives to all of its dispatchers. */
export const proxyPool = (...options: ConstructorParameters<typeof Pool>): Dispatcher =>
  Object.assign(new Pool(...options), { connect });

/** Sends one request, as undici's function of this name does. */
export const request = (
  { origin, pathname, search }: URL,
  {
    dispatcher,
    ...options
  }: Omit<Dispatcher.RequestOptions, "origin" | "path"> & {
    readonly dispatcher: Dispatcher;
  },
): Promise<Dispatcher.ResponseData> =>
  ask.call(dispatcher, { ...options, origin, path: `${pathname}${search}` });
