import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { channelOf, type InboundEvent, type OpenAccount } from '@turnkeeper/channels';
import { HTTP_ERRORS } from '@turnkeeper/protocol';
import { describe, expect, it } from 'vitest';

interface Fixture {
  readonly name: string;
  readonly why: string;
  readonly context: {
    readonly routes: Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly secret: string }>>;
    readonly now: number;
  };
  readonly deliveries: readonly {
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly rawBody: string;
  }[];
  readonly expect: {
    readonly http: readonly { readonly status: number }[];
    readonly outcomes: readonly string[];
    readonly dedupeKeys: readonly string[];
    readonly events: readonly InboundEvent[];
  };
}

const FOLDER = join(import.meta.dirname, '../fixtures/channels/webhook');
const fixtures = readdirSync(FOLDER).map((name): Fixture => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));
const EVENT_ID = '01990000-0000-7000-8000-000000000001';

/** What an ingress remembers of the messages it stored. */
class Stored {
  readonly dedupeKeys: string[] = [];
  readonly events: InboundEvent[] = [];

  receive({ ingress }: OpenAccount, delivery: Fixture['deliveries'][number], now: number) {
    if (ingress === null) throw new Error('webhooks come over /hooks');
    const rawBody = Buffer.from(delivery.rawBody);
    const verified = ingress.verify({ headers: delivery.headers, rawBody, receivedAtMs: now * 1000 });
    const parsed = verified.result === 'verified' ? ingress.parse(verified) : verified;
    if (parsed.result === 'rejected') {
      const { status } = HTTP_ERRORS[parsed.error.code as keyof typeof HTTP_ERRORS];
      return { outcomes: [`rejected:${parsed.reason}`], status };
    }
    const isNew = parsed.deliveries.filter(({ dedupeKey }) => !this.dedupeKeys.includes(dedupeKey));
    this.dedupeKeys.push(...isNew.map(({ dedupeKey }) => dedupeKey));
    this.events.push(...isNew.map(({ event }) => event));
    const reply = ingress.reply({ status: isNew.length > 0 ? 'accepted' : 'duplicate', eventId: EVENT_ID });
    const outcomes = parsed.deliveries.map((message) => (isNew.includes(message) ? 'message' : 'duplicate'));
    return { outcomes, status: reply.status };
  }
}

/** Checked and opened as accounts are when people configure them and messages come. */
function openRoute(name: string, { secret, ...options }: Fixture['context']['routes'][string]): OpenAccount {
  const channel = channelOf('webhook');
  const checked = channel.checkAccount({ options, secrets: { secret }, keptSecrets: [] });
  return channel.open({ name, options: checked, secrets: { secret } });
}

describe('webhook fixtures', () => {
  it.each(fixtures)('$name: $why', ({ context, deliveries, expect: expected }) => {
    const accounts = new Map(Object.entries(context.routes).map(([name, route]) => [name, openRoute(name, route)]));
    const stored = new Stored();
    const answers = deliveries.map((delivery) => {
      const account = accounts.get(delivery.path.replace('/hooks/', ''));
      if (account === undefined) throw new Error(`no account for ${delivery.path}`);
      return stored.receive(account, delivery, context.now);
    });
    expect({
      http: answers.map(({ status }) => ({ status })),
      outcomes: answers.flatMap(({ outcomes }) => outcomes),
      dedupeKeys: stored.dedupeKeys,
      events: stored.events,
    }).toEqual(expected);
  });
});
