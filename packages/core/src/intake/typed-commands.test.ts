import { describe, expect, it } from 'vitest';
import { type AgentId, type BootId, formatId, type SessionId, type TenantId } from '../ids.ts';
import type { LaneSession, TypedCommand } from '../ports/control.ts';
import type { AcceptItem } from '../ports/intake.ts';
import { SeededIds } from '../testing/seeded-ids.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { AcceptMessage, type InboundMessage } from './accept-message.ts';
import { decideResume } from './earlier-sessions.ts';
import { QueuedEstimate } from './queued-estimate.ts';
import { commandOf, TypedCommands } from './typed-commands.ts';

describe('a typed command', () => {
  it.each([
    ['/stop', { command: 'stop', rest: '' }],
    ['  /STOP please ', { command: 'stop', rest: '' }],
    ['/new', { command: 'reset', rest: '' }],
    ['/reset', { command: 'reset', rest: '' }],
    ['/resume', { command: 'resume', rest: '' }],
    ['/Resume ses_1', { command: 'resume', rest: 'ses_1' }],
    ['/New a topic\nof two lines ', { command: 'reset', rest: 'a topic\nof two lines' }],
  ])('is known: %j', (text, expected) => {
    expect(commandOf(text)).toEqual(expected);
  });

  it.each(['stop', '/stopped', '/news', '/resumed', 'please /stop', '/status', '/', ''])('is none: %j', (text) => {
    expect(commandOf(text)).toBeNull();
  });
});

const tenantId = '11111111-0000-7000-8000-000000000000' as TenantId;
const nodeId = '55555555-0000-7000-8000-000000000000' as BootId;

const sessionId = (n: number) => `66666666-0000-7000-8000-00000000000${n}` as SessionId;
const nameOf = (n: number) => formatId('ses', sessionId(n));
const session = (n: number, over: Partial<LaneSession> = {}): LaneSession => ({
  ...{ sessionId: sessionId(n), at: new Date(`2026-12-0${n}T10:00:30Z`), isCurrent: false, isOver: true },
  ...{ words: `talk\n ${n}`, ...over },
});
const sessions = [
  session(3, { isCurrent: true, isOver: false, words: null }),
  session(2),
  session(1, { words: 'é'.repeat(41) }),
];

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
  const typedOnes: TypedCommand[] = [];
  let moves = 0;
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
      sessionsOf: async () => sessions,
      typed: async (_node, request) => {
        const { command, onlyOf } = request;
        typedOnes.push(request);
        if (typeof command === 'object' && moves-- > 0) return { result: 'moved' };
        if (typeof command === 'object') done.push(`to ${command.to}`);
        else done.push(onlyOf === undefined ? command : `${command} of ${onlyOf}`);
        return { result: 'accepted', position: 0, ord: '1', done: null };
      },
    },
    signals: { stopTurn: () => undefined },
    announce: () => undefined,
  });
  const give = (message: InboundMessage, own = {}) =>
    commands.give(message, commandOf(message.content.text) ?? never(), own);
  const moveTimes = (times: number) => {
    moves = times;
  };
  return { acceptMessage, done, give, moveTimes, queued, stored, typedOnes };
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

describe('/resume', () => {
  it('alone lists the sessions shortly, and changes nothing', async () => {
    const { done, give, typedOnes } = setUp();
    await give(typed('/resume'));
    expect(done).toEqual(['answer']);
    expect(typedOnes[0]?.notices.done).toEqual({
      code: 'sessions',
      text: [
        `${nameOf(3)} · 2026-12-03 10:00 UTC (goes on now)`,
        `${nameOf(2)} · 2026-12-02 10:00 UTC · talk 2`,
        `${nameOf(1)} · 2026-12-01 10:00 UTC · ${'é'.repeat(40)}…`,
        'To go back to one of them: /resume and its id.',
      ].join('\n'),
    });
    expect(decideResume('', []).notices.done.text).toBe('There is no earlier conversation here.');
  });

  it('goes back to the session that is named, from the one that the lane has, for those whose work alone may end', async () => {
    const { done, give, typedOnes } = setUp();
    await give(typed(`/resume ${nameOf(1).toUpperCase()}`), { onlyOf: 'ann' });
    expect(done).toEqual([`to ${sessionId(1)}`]);
    expect(typedOnes).toMatchObject([
      {
        command: { from: sessionId(3), to: sessionId(1), endReason: 'session_switch' },
        goesOn: false,
        onlyOf: 'ann',
        notices: { done: { code: 'session_resumed' }, idle: { code: 'lane_busy' } },
      },
    ]);
  });

  it.each([
    ['the present session', nameOf(3), 'session_same'],
    ['one that is not here', nameOf(9), 'session_unknown'],
    ['what is no session', 'run_1 or two', 'session_unknown'],
  ])('of %s changes nothing, and says so', async (...row) => {
    const [, named, code] = row;
    const { done, give, typedOnes } = setUp();
    await give(typed(`/resume ${named}`));
    expect([done, typedOnes[0]?.notices.done.code]).toEqual([['answer'], code]);
  });

  it('of the present session that is over goes back to it', () => {
    const over = [session(3, { isCurrent: true })];
    expect(decideResume(nameOf(3), over).command).toMatchObject({ from: sessionId(3), to: sessionId(3) });
  });

  it('looks again when the lane changed meanwhile, and gives up at last', async () => {
    const { done, give, moveTimes } = setUp();
    moveTimes(2);
    await give(typed(`/resume ${nameOf(1)}`));
    expect(done).toEqual([`to ${sessionId(1)}`]);
    moveTimes(3);
    await expect(give(typed(`/resume ${nameOf(1)}`))).rejects.toMatchObject({ code: 'lane_busy', retryable: true });
    expect(done).toHaveLength(1);
  });
});
