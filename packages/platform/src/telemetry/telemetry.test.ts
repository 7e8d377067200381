import { AppError } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { createLogger, createMetrics } from './index.ts';

function logged(level: 'debug' | 'info' = 'debug') {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    level,
    fields: { service: 'ingress', version: '1', bootId: 'b' },
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  });
  return { lines, logger };
}

describe('createLogger', () => {
  it('writes one JSON line with the fields of the process and of the child', () => {
    const { lines, logger } = logged();
    logger.child({ tenantId: 'ten_1' }).info({ turnId: 'trn_1' }, 'turn started');
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        service: 'ingress',
        version: '1',
        bootId: 'b',
        tenantId: 'ten_1',
        turnId: 'trn_1',
        msg: 'turn started',
      },
    ]);
  });

  it('keeps quiet below its level', () => {
    const { lines, logger } = logged('info');
    logger.debug({}, 'unseen');
    expect(lines).toEqual([]);
  });

  it('tells of a foreign error its name, code and place, never its message', () => {
    const { lines, logger } = logged();
    const inner = Object.assign(new TypeError('what a person wrote'), { code: 'ECONNREFUSED' });
    logger.failed(
      new AppError({ code: 'store_unavailable', message: 'the store is away', cause: inner }),
      {},
      'failed',
    );
    expect(lines[0]).toMatchObject({
      code: 'store_unavailable',
      error: [
        { name: 'AppError', message: 'the store is away' },
        { name: 'TypeError', code: 'ECONNREFUSED', at: expect.any(Array) },
      ],
    });
    expect(JSON.stringify(lines)).not.toContain('what a person wrote');
  });

  it('takes anything that can be thrown', () => {
    const { lines, logger } = logged();
    for (const thrown of [undefined, null, 'text of a person', { a: 1 }]) logger.failed(thrown, {}, 'failed');
    expect(lines).toHaveLength(4);
    expect(JSON.stringify(lines)).not.toContain('text of a person');
  });

  it('cuts long values', () => {
    const { lines, logger } = logged();
    logger.info({ code: 'x'.repeat(5000) }, 'long');
    expect(String(lines[0]?.['code'])).toHaveLength(301);
  });
});

describe('createMetrics', () => {
  it('counts by label, under the prefix, and shows only what was asked for', async () => {
    const metrics = createMetrics({ service: 'ingress', version: '1' });
    metrics.counter('events_accepted_total').inc({ kind: 'message', platform: 'api' }, 2);
    metrics.counter('events_accepted_total').inc({ kind: 'message', platform: 'api' });
    metrics.histogram('accept_batch_size').observe(3);
    metrics.onScrape(() => metrics.gauge('turns_running').set(7));
    const text = await metrics.text();
    expect(text).toContain('turnkeeper_events_accepted_total{kind="message",platform="api"} 3');
    expect(text).toContain('turnkeeper_accept_batch_size_bucket{le="4"} 1');
    expect(text).toContain('turnkeeper_turns_running 7');
    expect(text).toContain('turnkeeper_build_info{service="ingress",version="1"} 1');
    expect(text).not.toContain('turnkeeper_leader');
  });

  it('keeps two processes in one Node apart', async () => {
    const [a, b] = [createMetrics({ service: 'a', version: '1' }), createMetrics({ service: 'b', version: '1' })];
    a.counter('turns_total').inc();
    expect(await b.text()).not.toContain('turns_total');
  });
});
