import { expect, it } from 'vitest';
import { checkNode } from './check-machine.ts';
import { isAtLeast } from './finding.ts';

it.each([
  ['2.9.10', [2, 9], true],
  ['2.10.0', [2, 9], true],
  ['2.8.99', [2, 9], false],
  ['7', [7, 0], true],
  ['24.1.0', [22, 22, 2], true],
  ['22.22.1', [22, 22, 2], false],
])('%s is at least %j: %s', (version, wanted, answer) => {
  expect(isAtLeast(version, wanted)).toBe(answer);
});

it('says what to do about a Node that is too old', () => {
  expect(checkNode('v20.20.2')).toMatchObject({ state: 'bad', advice: expect.stringContaining('npm ci') });
  expect(checkNode('v24.22.3').state).toBe('ok');
});
