import type { InboundEvent, OpenAccounts, RawRequest } from '@turnkeeper/channels';
import {
  type Acceptance,
  type AcceptMessage,
  type AccountConfig,
  type AccountConfigs,
  type AccountId,
  type AgentConfigs,
  AppError,
  type Clock,
  cleanJson,
  cleanText,
  HOPS_HEADER,
  type HttpErrorCode,
  hopsIn,
  NAME_PATTERN,
  parseId,
  type Span,
  type TenantConfig,
  type TenantConfigs,
  type TextRepairs,
  type Traceparent,
  type Tracer,
} from '@turnkeeper/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IntakeMetrics } from '../intake/intake-metrics.ts';
import type { RateGate } from './rate-gate.ts';
import { inRequestSpan } from './request-span.ts';

export interface HookParts {
  readonly tenants: TenantConfigs;
  readonly agents: Pick<AgentConfigs, 'get'>;
  readonly accounts: AccountConfigs;
  readonly openAccounts: OpenAccounts;
  readonly rates: RateGate;
  readonly acceptMessage: Pick<AcceptMessage, 'accept'>;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly metrics: IntakeMetrics;
}

interface HookTarget {
  readonly tenant: TenantConfig;
  readonly account: AccountConfig;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose hook this is, found before the body is read; the server begins each request with null. */
    hook: HookTarget | null;
  }
}

interface ByAccount {
  Params: { account: string };
}

/**
 * `POST /hooks/{account}`: a platform brings messages. Account → size limit → secret → verify → parse → accept → reply,
 * the same for every channel. A platform is never refused for a quota: its message is stored as a run that ended
 * `refused`. Only a missing store, overload and drain answer 503, after which it sends again.
 */
export function registerHooks(app: FastifyInstance, parts: HookParts): void {
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => parsed(null, body));
    const onRequest = async (request: FastifyRequest<ByAccount>) => {
      request.hook = await findAccount(request.params.account, parts);
    };
    scope.post<ByAccount>('/hooks/:account', { onRequest }, (request, reply) => receive(request, reply, parts));
    done();
  });
}

function receive(request: FastifyRequest<ByAccount>, reply: FastifyReply, parts: HookParts): Promise<object> {
  const span = { tracer: parts.tracer, name: 'POST /hooks' };
  return inRequestSpan(request, span, (parent) => take({ request, reply, parent }, parts));
}

interface HookCall {
  readonly request: FastifyRequest<ByAccount>;
  readonly reply: FastifyReply;
  readonly parent: Traceparent | null;
}

async function take({ request, reply, parent }: HookCall, parts: HookParts): Promise<object> {
  if (request.hook === null) throw noHook();
  const { tenant, account } = request.hook;
  const { ingress } = await parts.openAccounts.of(account);
  if (ingress === null) throw noHook();
  const raw = rawRequest(request, parts.clock);
  const verified = inSpan(parts.tracer.start('channel.verify', { parent }), () => ingress.verify(raw));
  const parsed =
    verified.result === 'rejected'
      ? verified
      : inSpan(parts.tracer.start('channel.parse', { parent }), () => ingress.parse(verified));
  if (parsed.result === 'rejected') {
    parts.metrics.hook(account.channel, parsed.reason);
    throw parsed.error;
  }
  const [first] = await Promise.all(
    parsed.deliveries.map(({ event, dedupeKey }) =>
      accept({ tenant, account, event, dedupeKey, hops: raw.headers[HOPS_HEADER], traceparent: parent }, parts),
    ),
  );
  if (first === undefined) return {};
  const answer = ingress.reply({ status: first.status, eventId: first.eventId });
  parts.metrics.hook(account.channel, first.refused ?? first.status);
  reply.code(answer.status);
  return answer.body;
}

function inSpan<T extends { readonly result: string; readonly error?: AppError }>(span: Span, work: () => T): T {
  const result = work();
  span.end(result.error?.code);
  return result;
}

interface Delivery {
  readonly tenant: TenantConfig;
  readonly account: AccountConfig;
  readonly event: InboundEvent;
  readonly dedupeKey: string;
  readonly hops: string | string[] | undefined;
  readonly traceparent: string | null;
}

/** An account's dedupe keys are a scope of their own, and the platform's id alone says that it is the same message. */
const ANY_BODY = new Uint8Array(32);

async function accept(delivery: Delivery, parts: HookParts): Promise<Acceptance> {
  const { tenant, account, dedupeKey, traceparent } = delivery;
  const startedMs = parts.clock.monotonicMs();
  const agent = await parts.agents.get(tenant.tenantId, account.agentId);
  if (agent === null) throw noHook();
  const {
    text,
    attachments,
    messageId,
    mentionsBot: _,
    isCommand: __,
    ...source
  } = clean(delivery.event, parts.metrics);
  const acceptance = await parts.acceptMessage.accept({
    tenant,
    agent,
    account,
    target: { source },
    kind: 'message',
    content: {
      text,
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(messageId === null ? {} : { platformMessageId: messageId }),
      ...hopsIn(delivery.hops),
    },
    idempotency: { scope: account.accountId, key: dedupeKey, bodyHash: ANY_BODY },
    traceparent,
    onQuota: 'store',
    ...(await refusalOf(tenant, parts)),
  });
  const ms = parts.clock.monotonicMs() - startedMs;
  parts.metrics.answered(acceptance, { door: 'hook', kind: 'message', platform: source.platform, ms });
  return acceptance;
}

/** `acc_…`, or `<tenant>.<account>`. Whatever is not there answers alike: nobody has proved to be anybody yet. */
async function findAccount(reference: string, { tenants, accounts }: HookParts): Promise<HookTarget> {
  const id = parseId<AccountId>(reference, 'acc');
  if (id !== null) {
    const tenantId = await accounts.locate(id);
    const [tenant, account] =
      tenantId === null ? [null, null] : await Promise.all([tenants.get(tenantId), accounts.get(tenantId, id)]);
    if (tenant !== null && tenant.status !== 'deleting' && account !== null) return { tenant, account };
    throw noHook();
  }
  const [tenantName = '', accountName = '', ...more] = reference.split('.');
  if (more.length > 0 || !NAME_PATTERN.test(tenantName) || !NAME_PATTERN.test(accountName)) throw noHook();
  const tenant = await tenants.byName(tenantName);
  const account = tenant === null ? null : await accounts.byName(tenant.tenantId, accountName);
  if (tenant !== null && tenant.status !== 'deleting' && account !== null) return { tenant, account };
  throw noHook();
}

/** Why the run ends `refused` at once. */
async function refusalOf(tenant: TenantConfig, { rates }: HookParts): Promise<{ readonly refusal?: HttpErrorCode }> {
  if (tenant.status !== 'active') return { refusal: 'tenant_suspended' };
  return (await rates.allows(tenant)) ? {} : { refusal: 'rate_limited' };
}

function rawRequest(request: FastifyRequest, clock: Clock): RawRequest {
  const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return { headers: request.headers, rawBody, receivedAtMs: clock.nowMs() };
}

/** What a platform sends may hold what no store can; cleaned as bodies of the API are. */
function clean(event: InboundEvent, metrics: IntakeMetrics): InboundEvent {
  const repairs: TextRepairs = { nul: 0, loneSurrogate: 0 };
  const text = cleanText(event.text, repairs);
  const attachments = event.attachments.map((attachment) => cleanJson(attachment, repairs));
  if (repairs.nul + repairs.loneSurrogate > 0) metrics.repaired(repairs);
  return { ...event, text, attachments };
}

function noHook(): AppError {
  return new AppError({ code: 'not_found', message: 'no such path or method' });
}
