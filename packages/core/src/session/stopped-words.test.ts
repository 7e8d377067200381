import { expect, it } from 'vitest';
import { StoreError } from '../errors.ts';
import type { MessageId } from '../ids.ts';
import type { ClaimedTurn } from '../ports/lane.ts';
import type { StoppedTurnWords } from '../ports/transcripts.ts';
import { silentLogger, VirtualClock } from '../testing/index.ts';
import { StoppedWords } from './stopped-words.ts';
import { RecordedStream, turnOf } from './turn.fixture.ts';
import type { RunningAgentTurn } from './turn.ts';
import { TurnStream } from './turn-stream.ts';

const messageId = '00000000-0000-7000-8000-000000000009' as MessageId;

function scene(answer: () => Promise<string | null> = async () => '9') {
  const live = new RecordedStream();
  const stream = new TurnStream(live, new VirtualClock());
  const asked: StoppedTurnWords[] = [];
  const store = {
    keepWords: (words: StoppedTurnWords) => {
      asked.push(words);
      return answer();
    },
  };
  const words = new StoppedWords({ store, stream, log: silentLogger });
  const keep = (claimed: ClaimedTurn) => words.keep({ claimed, messageId } as RunningAgentTurn);
  const told = () => live.events.filter(({ type }) => type === 'message.created');
  return { asked, keep, stream, told };
}

it('keeps what readers were shown, also what was held back, and tells them under the id of the deltas', async () => {
  const { asked, keep, stream, told } = scene();
  const claimed = turnOf(1);
  stream.text(claimed, messageId, 'one ');
  stream.text(claimed, messageId, 'two\u0000\uD800');
  await keep(claimed);
  const { lane, fence } = claimed;
  expect(asked).toEqual([{ lane, turnId: fence.turnId, messageId, text: 'one two��' }]);
  const data = expect.objectContaining({ role: 'assistant', text: 'one two��', cut: true });
  expect(told()).toEqual([expect.objectContaining({ seq: '9', data })]);
});

it('asks for nothing when a turn had said nothing, or ended with a question', async () => {
  const { asked, keep, stream } = scene();
  const [silent, asking] = [turnOf(1), turnOf(2)];
  stream.text(silent, messageId, ' \n');
  stream.text(asking, messageId, 'Let me ask.');
  const question = { kind: 'question' as const, text: 'What?', waitMs: 1 };
  stream.asked(asking, { inputId: messageId as never, question, seq: '8', expiresAt: new Date(0) });
  await keep(silent);
  await keep(asking);
  expect(asked).toEqual([]);
});

it.each([
  ['nobody stopped the turn', async () => null],
  ['the store is away', () => Promise.reject(new StoreError({ failure: 'unknown', state: '57P01', message: 'gone' }))],
])('tells nothing, and lets the lane go on, when %s', async (_, answer) => {
  const { asked, keep, stream, told } = scene(answer);
  const claimed = turnOf(1);
  stream.text(claimed, messageId, 'one');
  await keep(claimed);
  expect([asked.length, told()]).toEqual([1, []]);
});
