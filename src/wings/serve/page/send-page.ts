import type { FastifyReply, FastifyRequest } from "fastify";
import type { Html } from "../../../output/html.ts";
import type { Asked } from "./selection.ts";

/** What a page's address asks for. */
export const queryOf = ({ url }: Pick<FastifyRequest, "url">): Asked =>
  new URL(url, "http://localhost").searchParams;

export const sendPage = (reply: FastifyReply, status: number, { text }: Html): FastifyReply =>
  reply.code(status).type("text/html; charset=utf-8").send(text);
