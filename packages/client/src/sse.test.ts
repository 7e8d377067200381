import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SseParser } from './sse.ts';

const text =
  ': hi\n\n: cursor t7\n\nevent: a\nid: 1\ndata: {"x":1}\n\nid: 2.1\r\ndata: one\r\ndata: two\r\n\r\n\ndata:tight\rid\r\rid: 9\n\ndata: never ended';

test('the same events come, wherever the stream is cut', () => {
  const whole = new SseParser().push(text);
  expect(whole).toEqual([
    { id: 't7', data: undefined },
    { id: '1', data: '{"x":1}' },
    { id: '2.1', data: 'one\ntwo' },
    { id: '', data: 'tight' },
  ]);
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const parser = new SseParser();
      const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const events = places.slice(1).flatMap((end, i) => parser.push(text.slice(places[i], end)));
      expect(events).toEqual(whole);
    }),
  );
});
