import { isUtf8 } from 'node:buffer';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, type Logger } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { BODY_BYTES_MAX } from '@turnkeeper/protocol';
import { type FastifyHttpOptions, type FastifyInstance, fastify } from 'fastify';
import { BodyBudget } from './body-budget.ts';
import { limitBodyTime } from './body-deadline.ts';
import { KnownPaths } from './known-paths.ts';
import { problemOf, problemSender, REQUEST_ID_HEADER } from './problems.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a file: it may take as long as a request may. */
    takesFile?: true;
  }
  interface FastifyReply {
    /** Streams and waits say false: their duration tells nothing about this server. */
    isTimed: boolean;
  }
}

export interface HttpServerParts {
  /** Begins every request id of this process. */
  readonly requestIdPrefix: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Parses and cleans the text of a JSON body. @throws AppError `invalid_json` */
  readonly readJson: (text: string) => unknown;
  /** Paths that are not here, and what to say of them. */
  readonly elsewhere?: { readonly prefix: string; readonly hint: string };
}

/** Session keys are at most 512 bytes, each three characters when percent-encoded. */
const PARAM_LENGTH_MAX = 2048;
/** Of files: those of other bodies, and the headers, have a tenth. */
const REQUEST_MS_MAX = 300_000;
const HEADERS_MS_MAX = 30_000;
const HEADER_BYTES_MAX = 16 * 1024;

/**
 * What both listeners have in common: request ids on every answer, problem documents for every error, bodies that are
 * JSON objects of at most 1 MiB, and one duration per request.
 */
export function createHttpServer(parts: HttpServerParts): FastifyInstance {
  const { requestIdPrefix, logger, metrics, readJson, elsewhere } = parts;
  const sendProblem = problemSender(logger);
  let requests = 0;
  const nextRequestId = () => `${requestIdPrefix}-${(++requests).toString(36)}`;
  const app = fastify({
    ...OPTIONS,
    genReqId: nextRequestId,
    frameworkErrors: sendProblem,
    clientErrorHandler: (error, socket) => answerUnreadable(error, socket, nextRequestId()),
  });
  app.decorateReply('isTimed', true);
  app.decorateRequest('caller', null);
  app.decorateRequest('hook', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    try {
      // an empty body is no body: whether one is needed is for the route to say
      done(null, bytes.length === 0 ? undefined : readJson(textOf(bytes, request.headers['content-encoding'])));
    } catch (error) {
      done(error instanceof Error ? error : new Error('thrown'));
    }
  });
  app.setErrorHandler(sendProblem);
  const paths = new KnownPaths(app);
  app.setNotFoundHandler((request, reply) => {
    const methods = paths.methodsAt(request.url).join(', ');
    if (methods !== '') reply.header('allow', methods);
    const unknown = elsewhere && request.url.startsWith(elsewhere.prefix) ? elsewhere.hint : 'no such path';
    const message = methods === '' ? unknown : `this path takes ${methods}, not ${request.method}`;
    sendProblem(new AppError({ code: 'not_found', message }), request, reply);
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    limitBodyTime(request, request.routeOptions.config.takesFile === true, () =>
      answerUnreadable(lateBody(), request.raw.socket, request.id),
    );
    done();
  });
  const bodies = new BodyBudget();
  app.addHook('preParsing', async (request, reply, body) => {
    // a file is stored piece by piece as it comes
    return request.routeOptions.config.takesFile === true ? body : bodies.counted(request, reply, body);
  });
  measure(app, metrics);
  return app;
}

/** The text of a body. Decoding what is no UTF-8 would store other words than were sent. @throws AppError `invalid_json` */
function textOf(bytes: Buffer, encoding = 'identity'): string {
  if (!['', 'identity'].includes(encoding.trim().toLowerCase()))
    throw new AppError({ code: 'invalid_json', message: 'send the body as it is: no content-encoding is read' });
  if (!isUtf8(bytes)) throw new AppError({ code: 'invalid_json', message: 'the body is not UTF-8' });
  return bytes.toString('utf8');
}

const OPTIONS: FastifyHttpOptions<Server> = {
  logger: false,
  bodyLimit: BODY_BYTES_MAX,
  requestTimeout: REQUEST_MS_MAX,
  keepAliveTimeout: 75_000,
  return503OnClosing: false,
  forceCloseConnections: 'idle',
  routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
  http: { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS_MAX },
};

function measure(app: FastifyInstance, metrics: Metrics): void {
  const duration = metrics.histogram('http_request_duration_seconds');
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.isTimed) {
      duration.observe(reply.elapsedTime / 1000, {
        route: request.routeOptions.url ?? 'unknown',
        method: request.method,
        code: String(reply.statusCode),
      });
    }
    done();
  });
}

function lateBody(): NodeJS.ErrnoException {
  return Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

/** Something that is not HTTP, or whose headers are too large: there is no request yet, so the bytes are written here. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const isTimeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const message = isTimeout ? 'the request did not arrive in time' : 'this is not HTTP, or its headers are too large';
  const body = JSON.stringify(problemOf({ code: 'invalid_field', message }, requestId));
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      'content-type: application/problem+json',
      `${REQUEST_ID_HEADER}: ${requestId}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
