import { describe, expect, it } from 'vitest';
import type { MessageId } from '../ids.ts';
import type { CommitRequest } from '../ports/lane.ts';
import { VirtualClock } from '../testing/index.ts';
import { RecordedStream, turnOf } from './turn.fixture.ts';
import { type AskedQuestion, TurnStream } from './turn-stream.ts';

const messageId = '00000000-0000-7000-8000-000000000009' as MessageId;

function streamOf() {
  const clock = new VirtualClock();
  const live = new RecordedStream();
  const deltas = () => live.events.filter(({ type }) => type === 'message.delta').map(({ data }) => data);
  return { clock, live, deltas, stream: new TurnStream(live, clock) };
}

function commitOf(turn: ReturnType<typeof turnOf>, over: Partial<CommitRequest> = {}): CommitRequest {
  return {
    ...{ lane: turn.lane, fence: turn.fence, status: 'ok', messageId, reply: { text: 'one two three' }, error: null },
    ...{ usage: null, agentVersion: 1, owed: { kind: 'proven' } },
    ...over,
  };
}

describe('live events of a turn', () => {
  it('tell of start, text, message, end and run, in this order, with the seq of claim and commit', () => {
    const { live, stream } = streamOf();
    const turn = turnOf(1);
    stream.started(turn, 3);
    stream.text(turn, messageId, 'one ');
    stream.text(turn, messageId, 'two three');
    stream.committed(turn, { request: commitOf(turn), seq: '8', finishedAt: new Date(2_000) });
    expect(live.events.map(({ type, seq }) => [type, seq])).toEqual([
      ['turn.started', '7'],
      ['turn.activity', undefined],
      ['message.delta', undefined],
      ['message.delta', undefined],
      ['message.created', '8'],
      ['turn.finished', '8'],
      ['run.settled', '8'],
    ]);
    const ids = new Set(
      live.events.map(({ turnId, runIds, sessionId }) => JSON.stringify([turnId, runIds, sessionId])),
    );
    expect(ids.size).toBe(1);
    expect(live.events[0]).toMatchObject({ turnId: expect.stringMatching(/^trn_/), data: { agentVersion: 3 } });
  });

  it('tell what the turn is at: it thinks, it waits for a person', () => {
    const { live, stream } = streamOf();
    stream.started(turnOf(1), 3);
    const question = { kind: 'text', text: 'Go?' } as unknown as AskedQuestion['question'];
    const inputId = messageId as string as AskedQuestion['inputId'];
    stream.asked(turnOf(1), { inputId, question, seq: '8', expiresAt: new Date(0) });
    const activities = live.events.filter(({ type }) => type === 'turn.activity');
    expect(activities.map(({ data }) => data['activity'])).toEqual(['thinking', 'waiting']);
  });

  it('tell what the model thinks before what it says, each with its own offsets', async () => {
    const { clock, live, stream } = streamOf();
    const turn = turnOf(1);
    for (const piece of ['let me ', 'see', '']) stream.reasoning(turn, piece);
    for (const piece of ['It ', 'is so']) stream.text(turn, messageId, piece);
    stream.reasoning(turn, ' again');
    await clock.advance(100);
    const deltas = live.events.filter(({ type }) => type.endsWith('.delta'));
    expect(deltas.map(({ type, data }) => [type, data['offset'], data['text']])).toEqual([
      ['reasoning.delta', 0, 'let me '],
      ['reasoning.delta', 7, 'see'],
      ['message.delta', 0, 'It '],
      ['message.delta', 3, 'is so'],
      ['reasoning.delta', 10, ' again'],
    ]);
    for (const { attempt, turnId } of deltas) expect([attempt, turnId]).toEqual([1, expect.stringMatching(/^trn_/)]);
    live.events.length = 0;
    stream.snapshot(turn.lane.laneId);
    expect(live.events).toMatchObject([{ data: { parts: [{ type: 'text', text: 'It is so' }] } }]);
  });

  it('hold text back for 30 ms after a delta, and lose none of it', async () => {
    const { clock, deltas, stream } = streamOf();
    const turn = turnOf(1);
    stream.text(turn, messageId, 'a');
    stream.text(turn, messageId, 'bc');
    stream.text(turn, messageId, '🙂');
    expect(deltas()).toMatchObject([{ offset: 0, text: 'a' }]);
    await clock.advance(30);
    expect(deltas()).toMatchObject([{ text: 'a' }, { offset: 1, text: 'bc🙂', part: 0 }]);
    await clock.advance(30);
    stream.text(turn, messageId, 'd');
    expect(deltas()[2]).toMatchObject({ offset: 5, text: 'd' });
  });

  it('send 2 kB at once', () => {
    const { deltas, stream } = streamOf();
    const turn = turnOf(1);
    stream.text(turn, messageId, 'a');
    stream.text(turn, messageId, 'x'.repeat(2048));
    expect(deltas()).toHaveLength(2);
  });

  it('leave no timer behind when all text is out', async () => {
    const { clock, stream } = streamOf();
    const turn = turnOf(1);
    stream.text(turn, messageId, 'a');
    stream.text(turn, messageId, 'b');
    expect(clock.sleeping).toBe(1);
    await clock.advance(30);
    expect(clock.sleeping).toBe(0);
  });

  it('say nothing of held back text when the turn is dropped', async () => {
    const { clock, deltas, stream } = streamOf();
    const turn = turnOf(1);
    stream.text(turn, messageId, 'a');
    stream.text(turn, messageId, 'b');
    stream.dropped(turn);
    await clock.advance(100);
    expect(deltas()).toHaveLength(1);
  });

  it('carry the attempt, so that a reader clears what an earlier one streamed', () => {
    const { live, stream } = streamOf();
    const turn = turnOf(1, { events: turnOf(1).events.map((event) => ({ ...event, attempts: 2 })) });
    stream.text(turn, messageId, 'a');
    expect(live.events[0]?.attempt).toBe(3);
  });

  it('tell of a failed turn without a message', () => {
    const { live, stream } = streamOf();
    const turn = turnOf(1);
    const request = commitOf(turn, { status: 'error', reply: null, error: { code: 'model_error' }, owed: null });
    stream.committed(turn, { request, seq: '8', finishedAt: new Date(0) });
    expect(live.events.map(({ type }) => type)).toEqual(['turn.finished', 'run.settled']);
    expect(live.events[1]?.data).toMatchObject({ status: 'error', error: { code: 'model_error' } });
  });

  it('are told to whoever comes in the middle, at the right place of the text', async () => {
    const { clock, live, deltas, stream } = streamOf();
    const turn = turnOf(1);
    live.watched = false;
    stream.text(turn, messageId, 'unheard');
    await clock.advance(30);
    live.watched = true;
    stream.text(turn, messageId, 'heard');
    expect(deltas()).toMatchObject([{ offset: 7, text: 'heard' }]);
  });

  it('are not sent while nobody listens', () => {
    const { live, stream } = streamOf();
    live.watched = false;
    const turn = turnOf(1);
    stream.started(turn, 1);
    stream.text(turn, messageId, 'a');
    stream.committed(turn, { request: commitOf(turn), seq: '8', finishedAt: new Date(0) });
    expect(live.events).toEqual([]);
  });
});
