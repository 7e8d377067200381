import { describe, expect, it } from 'vitest';
import { commandOf } from './typed-commands.ts';

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
