import { PassThrough } from "node:stream";
import type { FastifyInstance } from "fastify";
import { asTyped } from "../../as-typed.ts";
import { secondMs } from "../../contract/time.ts";
import { joined } from "../../page/html.ts";
import { type Overview, readOverview } from "../../page/overview.ts";
import { findIn, liveParts } from "../../page/page.ts";
import type { Asked } from "../../page/selection.ts";
import { faultOf, type ServeDeps } from "../route-group.ts";
import { queryOf } from "./send-page.ts";

// Poll intervals while a sync runs and while none does. One poll serves all viewers.
const busyPollMs = secondMs;
const idlePollMs = 5 * secondMs;
const restTimes = 4;
// Shorter than the time after which a proxy, or this server, closes a silent connection.
const silenceMaxMs = 15 * secondMs;
/** Viewers beyond this many get no updates: they read the page as it was sent. */
const viewersMax = 100;

type Viewer = {
  readonly query: Asked;
  readonly stream: PassThrough;
  sent: string;
  sentAt: number;
};

/**
 * `/page/live`: sends the parts of the page that change while a sync runs, as events, whenever they
 * have changed. Another event says that the sync has ended, after which the whole page may differ.
 */
export function addLive(app: FastifyInstance, deps: ServeDeps): void {
  const viewers = new Set<Viewer>();
  let timer: NodeJS.Timeout | undefined;
  let wasAtWork = false;
  const tick = async (): Promise<void> => {
    const startedAt = performance.now();
    const isAtWork = await sendTo(viewers, deps, wasAtWork).catch((thrown: unknown) => {
      deps.log.warn(faultOf(thrown), "no progress to show");
      return wasAtWork;
    });
    const isWatched = viewers.size > 0;
    wasAtWork = isAtWork && isWatched;
    // With many ledgers a poll takes long: rest for a multiple of its duration.
    const restMs = restTimes * (performance.now() - startedAt);
    const pollMs = Math.max(restMs, isAtWork ? busyPollMs : idlePollMs);
    timer = isWatched ? setTimeout(tick, pollMs) : undefined;
  };
  app.get("/page/live", (request, reply) => {
    if (viewers.size >= viewersMax) return reply.code(503).send();
    const stream = new PassThrough();
    const viewer: Viewer = { query: queryOf(request), stream, sent: "", sentAt: 0 };
    viewers.add(viewer);
    stream.on("close", () => viewers.delete(viewer));
    timer ??= setTimeout(tick, 0);
    return reply.type("text/event-stream").send(stream);
  });
  // Open event streams would keep a stopping server up.
  app.addHook("preClose", async () => {
    clearTimeout(timer);
    for (const { stream } of viewers) stream.end();
  });
}

/** @returns whether a sync is at work. */
async function sendTo(
  viewers: ReadonlySet<Viewer>,
  { now, ...deps }: ServeDeps,
  wasAtWork: boolean,
): Promise<boolean> {
  // Viewers of the same accounts see the same.
  const finds = [...new Set([...viewers].map(({ query }) => findIn(query)))];
  const overviews = await deps.read(async (tx) => {
    const read = new Map<string, Overview>();
    for (const find of finds) read.set(find, await readOverview(tx, deps, find));
    return read;
  });
  let isAtWork = false;
  for (const viewer of viewers) {
    const overview = overviews.get(findIn(viewer.query));
    // This one came while the others' were read.
    if (overview === undefined) continue;
    isAtWork = overview.isSyncAtWork;
    const parts = asTyped(deps, joined(liveParts(overview), "").text);
    const hasEnded = wasAtWork && !isAtWork;
    if (parts !== viewer.sent || hasEnded) {
      send(viewer, hasEnded ? "ended" : "parts", parts, now());
    } else if (now() - viewer.sentAt > silenceMaxMs) send(viewer, "still", "", now());
  }
  return isAtWork;
}

function send(viewer: Viewer, event: string, data: string, at: number): void {
  viewer.sentAt = at;
  // A viewer that does not read gets no more events; once it reads again, it gets the newest.
  if (viewer.stream.writableNeedDrain) return;
  if (event === "parts") viewer.sent = data;
  viewer.stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
