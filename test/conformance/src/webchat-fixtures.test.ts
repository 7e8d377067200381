import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandIn, type InboundEvent, parseMessageFrame } from '@turnkeeper/channels';
import { type ClientFrame, ClientFrameSchema } from '@turnkeeper/protocol';
import { describe, expect, it } from 'vitest';

interface Fixture {
  readonly name: string;
  readonly context: { readonly tenant: string; readonly sessionToken: { readonly sub: string; readonly name: string } };
  readonly deliveries: readonly { readonly json: object }[];
  readonly expect: {
    readonly outcomes: readonly string[];
    readonly dedupeKeys: readonly string[];
    readonly events: readonly InboundEvent[];
    readonly hints?: { command?: string; args?: string; replayFromSeq?: number };
  };
}

const FOLDER = join(import.meta.dirname, '../fixtures/channels/webchat');
const fixtures = readdirSync(FOLDER).map((name): Fixture => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));

/** What an ingress remembers of the frames that it was sent. */
class Stored {
  readonly dedupeKeys: string[] = [];
  readonly events: InboundEvent[] = [];

  receive(frame: ClientFrame, { tenant, sessionToken }: Fixture['context']): string {
    if (frame.type !== 'message') return `control:${frame.type}`;
    const { dedupeKey, event } = parseMessageFrame(frame, { tenant, ...sessionToken });
    if (this.dedupeKeys.includes(dedupeKey)) return 'duplicate';
    this.dedupeKeys.push(dedupeKey);
    this.events.push(event);
    return 'message';
  }
}

describe('web chat fixtures', () => {
  it.each(fixtures)('$name', ({ context, deliveries, expect: expected }) => {
    const stored = new Stored();
    const frames = deliveries.map(({ json }) => ClientFrameSchema.parse(json));
    expect(frames.map((frame) => stored.receive(frame, context))).toEqual(expected.outcomes);
    expect(stored.dedupeKeys).toEqual(expected.dedupeKeys);
    expect(stored.events).toEqual(expected.events);
    const { command, args, replayFromSeq } = expected.hints ?? {};
    if (command !== undefined) expect(commandIn(stored.events[0]?.text ?? '')).toEqual({ command, args });
    if (replayFromSeq === undefined) return;
    const [resume] = frames.flatMap((frame) => (frame.type === 'resume' ? [frame.lastSeq] : []));
    expect((resume?.seq ?? 0) + 1).toBe(replayFromSeq);
  });
});
