import { describe, expect, it } from 'vitest';
import type { AgentId, BootId, TenantId } from '../ids.ts';
import type { AcceptItem } from '../ports/intake.ts';
import { SeededIds } from '../testing/seeded-ids.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { AcceptMessage, type InboundMessage } from './accept-message.ts';
import { QueuedEstimate } from './queued-estimate.ts';
import { commandOf, TypedCommands } from './typed-commands.ts';

describe('a typed command', () => {
  it.each([
    ['/stop', { command: 'stop', rest: '' }],
    ['  /STOP please ', { command: 'stop', rest: '' }],
    ['/new', { command: 'reset', rest: '' }],
    ['/reset', { command: 'reset', rest: '' }],
    ['/New a topic\nof two lines ', { command: 'reset', rest: 'a topic\nof two lines' }],
  ])('is known: %j', (text, expected) => {
    expect(commandOf(text)).toEqual(expected);
  });

  it.each(['stop', '/stopped', '/news', 'please /stop', '/status', '/', ''])('is none: %j', (text) => {
    expect(commandOf(text)).toBeNull();
  });
});

const tenantId = '11111111-0000-7000-8000-000000000000' as TenantId;
const nodeId = '55555555-0000-7000-8000-000000000000' as BootId;

const typed = (text: string, onQuota: InboundMessage['onQuota'] = 'answer') =>
  ({
    tenant: {
      ...{ tenantId, name: 'demo' },
      limits: { ratePerSecond: null, burst: null, turnSlots: 1, queuedPerLane: 7, queuedPerTenant: 10 },
    },
    agent: { agentId: '22222222-0000-7000-8000-000000000000' as AgentId, name: 'main', keyPolicy: {} as never },
    ...{ account: null, target: { sessionKey: 'k' }, kind: 'message', content: { text } },
    ...{ idempotency: null, traceparent: null, onQuota },
  }) satisfies InboundMessage;

function setUp() {
  const [ids, clock, queued] = [new SeededIds(), new VirtualClock(), new QueuedEstimate()];
  const [stored, done]: [AcceptItem[], string[]] = [[], []];
  const parts = { nodeId, ids, partitionOf: () => 0, wakeUps: { wake: () => undefined } };
  const accept = async (_node: BootId, items: readonly AcceptItem[]) => {
    stored.push(...items);
    return items.map(() => ({ result: 'accepted' as const, position: 0, ord: '1' }));
  };
  const crashPoints = { hit: () => undefined };
  const acceptMessage = new AcceptMessage({ ...parts, clock, queued, crashPoints, intake: { accept } });
  const commands = new TypedCommands({
    ...{ ...parts, acceptMessage },
    control: {
      typed: async (_node, { command, onlyOf }) => {
        done.push(onlyOf === undefined ? command : `${command} of ${onlyOf}`);
        return { result: 'accepted', position: 0, ord: '1', done: null };
      },
    },
    signals: { stopTurn: () => undefined },
    announce: () => undefined,
  });
  const give = (message: InboundMessage, own = {}) =>
    commands.give(message, commandOf(message.content.text) ?? never(), own);
  return { acceptMessage, done, give, queued, stored };
}

function never(): never {
  throw new Error('no command');
}

it('says whose own work alone a command may end', async () => {
  const { done, give } = setUp();
  await give(typed('/stop'), { onlyOf: 'ann' });
  expect(done).toEqual(['stop of ann']);
});

describe('a typed command where no message is taken', () => {
  it('does nothing when a message follows it, and counts what follows until then', async () => {
    const { done, give, queued, stored } = setUp();
    queued.update(new Map([[tenantId, { queued: 9, measuredAtMs: 1, ageMs: 0 }]]));
    await give(typed('/new'));
    await give(typed('/new hello'));
    await expect(give(typed('/new hello'))).rejects.toMatchObject({ code: 'tenant_queue_full' });
    expect(await give(typed('/new hello', 'store'))).toMatchObject({ refused: 'tenant_queue_full' });
    expect(stored).toMatchObject([{ refused: { code: 'tenant_queue_full' }, body: { text: '/new hello' } }]);
    await give(typed('/stop'));
    expect(done).toEqual(['reset', 'reset', 'stop']);
  });

  it('is refused with its message by an intake that drains', async () => {
    const { acceptMessage, done, give } = setUp();
    await acceptMessage.close(1);
    await expect(give(typed('/reset hello'))).rejects.toMatchObject({ code: 'draining' });
    expect(done).toEqual([]);
  });
});
