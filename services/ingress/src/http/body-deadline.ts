import type { FastifyRequest } from 'fastify';

/** A body that is no file arrives within this. */
const BODY_MS_MAX = 30_000;

/** Ends a request whose body does not arrive in time; files have the time of the whole request. */
export function limitBodyTime(request: FastifyRequest, isFile: boolean, late: () => void): void {
  const { headers, raw } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || isFile) return;
  const timer = setTimeout(late, BODY_MS_MAX);
  timer.unref();
  const stop = () => clearTimeout(timer);
  raw.once('end', stop);
  raw.once('close', stop);
}
