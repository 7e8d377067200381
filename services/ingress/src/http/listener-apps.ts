import type { Readiness } from '@turnkeeper/platform/process';
import type { FastifyInstance } from 'fastify';
import { registerAccounts } from './accounts.ts';
import { registerAdmin } from './admin/admin.ts';
import type { AdminParts } from './admin/admin-parts.ts';
import { registerAgents } from './agents.ts';
import { type AttachmentParts, registerAttachments } from './attachments.ts';
import { type ChatCompletionParts, registerChatCompletions } from './chat-completions.ts';
import { type ChatPageParts, registerChatPage } from './chat-page.ts';
import { type ClientTokenParts, registerClientTokens } from './client-tokens.ts';
import { type OwnConfigParts, ownDoor } from './config-door.ts';
import { registerCrossOrigin } from './cross-origin.ts';
import { type DeliveryParts, registerDeliveries } from './deliveries.ts';
import { registerHealth, registerMetrics, registerOpenApi } from './health.ts';
import { type HookParts, registerHooks } from './hooks.ts';
import { type InputParts, registerInputs } from './inputs.ts';
import { registerKeys } from './keys.ts';
import { type LimitParts, registerLimits } from './limits.ts';
import { type MessageParts, registerMessages } from './messages.ts';
import { type ModelParts, registerModels } from './models.ts';
import { type OutboundParts, registerOutbound } from './outbound.ts';
import { type RunParts, registerRuns } from './runs.ts';
import { registerSearch, type SearchParts } from './search.ts';
import { createHttpServer, type HttpServerParts } from './server.ts';
import { registerSessionControl, type SessionControlParts } from './session-control.ts';
import { registerSessionEvents, type SessionEventParts } from './session-events.ts';
import { registerSessions, type SessionParts } from './sessions.ts';
import { registerSocket, type SocketParts } from './socket.ts';
import { registerTenantEvents, type TenantEventParts } from './tenant-events.ts';
import { registerUploads, type UploadParts } from './uploads.ts';
import { registerUsage, type UsageParts } from './usage.ts';

/** What customers and platforms reach: `/v1` and `/hooks`. */
export function createPublicApp(
  server: HttpServerParts,
  readiness: Readiness,
  parts: MessageParts &
    ChatCompletionParts &
    ModelParts &
    RunParts &
    HookParts &
    OwnConfigParts &
    SessionParts &
    SessionControlParts &
    SessionEventParts &
    TenantEventParts &
    OutboundParts &
    InputParts &
    ClientTokenParts &
    SocketParts &
    LimitParts &
    DeliveryParts &
    UsageParts &
    SearchParts &
    ChatPageParts &
    UploadParts &
    AttachmentParts,
): FastifyInstance {
  const elsewhere = { prefix: '/admin/', hint: 'no such path here: /admin is on the internal address' };
  const app = createHttpServer({ ...server, elsewhere });
  endConnections(app, readiness);
  registerCrossOrigin(app, parts);
  registerHealth(app, readiness);
  registerOpenApi(app);
  registerMessages(app, parts);
  registerChatCompletions(app, parts);
  registerModels(app, parts);
  registerRuns(app, parts);
  registerHooks(app, parts);
  const door = ownDoor(parts);
  registerAgents(app, door);
  registerAccounts(app, door);
  registerKeys(app, door);
  registerSessions(app, parts);
  registerSessionControl(app, parts);
  registerOutbound(app, parts);
  registerInputs(app, parts);
  registerLimits(app, parts);
  registerDeliveries(app, parts);
  registerUsage(app, parts);
  registerSearch(app, parts);
  registerUploads(app, parts);
  registerAttachments(app, parts);
  registerSessionEvents(app, parts);
  registerTenantEvents(app, parts);
  registerChatPage(app, parts);
  registerClientTokens(app, parts);
  registerSocket(app, parts);
  return app;
}

/** While the node drains, each connection ends with its answer: whoever comes again is led to another node. */
function endConnections(app: FastifyInstance, readiness: Readiness): void {
  app.addHook('onRequest', (_request, reply, done) => {
    if (readiness.phase === 'draining') reply.header('connection', 'close');
    done();
  });
}

/** What operators and scrapers reach: `/admin/v1` and `/metrics`, on a port of its own. */
export function createInternalApp(server: HttpServerParts, readiness: Readiness, parts: AdminParts): FastifyInstance {
  const app = createHttpServer(server);
  registerHealth(app, readiness);
  registerMetrics(app, server.metrics);
  registerAdmin(app, parts);
  return app;
}
