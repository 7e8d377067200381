import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { tell } from './explain.ts';

const node = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001';
const at = (ms: number) => new Date(Date.parse('2026-01-02T03:04:05.000Z') + ms).toISOString();

test('a life is told line by line, within 80 columns', () => {
  const lines = tell({
    eventId: 'evt_x',
    runId: 'run_x',
    sessionKey: 'agent:main:main',
    status: 'ok',
    data: [
      { at: at(0), step: 'accepted', node, nodeName: 'ingress-1' },
      { at: at(4), step: 'claimed', node, attempt: 1, reason: 'message' },
      { at: at(5004), step: 'turn_ended', node, attempt: 1, status: 'interrupted' },
      { at: at(5100), step: 'claimed', node, attempt: 2, reason: 'resume' },
      { at: at(5200), step: 'turn_ended', node, nodeName: `pod-${'x'.repeat(99)}`, attempt: 2, status: 'ok' },
      { at: at(5200), step: 'settled', status: 'ok' },
      { at: at(5260), step: 'delivery', node, status: 'failed', attempt: 3, code: 'http_404' },
    ],
  }).map(stripVTControlCharacters);
  expect(lines).toEqual([
    'run_x  ok',
    'in agent:main:main  2026-01-02',
    '',
    '03:04:05.000  accepted                              on ingress-1',
    '       +4 ms  turn 1 begins                         on ffff0001',
    '    +5000 ms  turn 1 ends interrupted               on ffff0001',
    '      +96 ms  turn 2 begins, resume                 on ffff0001',
    '     +100 ms  turn 2 ends ok                        on pod-xxxxxxxx…xxxxxxxxxxx',
    '       +0 ms  settled ok',
    '      +60 ms  reply failed at try 3: http_404       on ffff0001',
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80);
});
