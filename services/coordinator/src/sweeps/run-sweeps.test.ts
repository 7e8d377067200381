import { AppError, noTracer } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { createLogger, createMetrics } from '@turnkeeper/platform/telemetry';
import { expect, test, vi } from 'vitest';
import { runSweeps } from './run-sweeps.ts';
import type { Sweep, SweepGroup } from './sweep.ts';

function begin(...groups: SweepGroup[]) {
  const clock = new VirtualClock();
  const lines: { msg: string }[] = [];
  const logger = createLogger({
    level: 'info',
    fields: {},
    destination: { write: (line) => lines.push(JSON.parse(line)) },
  });
  const metrics = createMetrics({ service: 'coordinator', version: '0' });
  const term = new AbortController();
  const running = runSweeps({ groups, clock, logger, metrics, tracer: noTracer }, term.signal);
  const said = () => lines.map(({ msg }) => msg);
  return { clock, metrics, running, said, endTerm: () => term.abort() };
}

function sweep(name: string, run: Sweep['run'], end?: () => void): Sweep {
  return { name, deadlineMs: 1000, run, ...(end === undefined ? {} : { end }) };
}

test('sweeps of a group follow one another, at its pace', async () => {
  const calls: string[] = [];
  const note = (name: string) =>
    sweep(name, async () => {
      calls.push(name);
      return {};
    });
  const { clock, endTerm, running } = begin({ everyMs: 250, sweeps: [note('a'), note('b')] });
  await clock.advance(500);
  expect(calls).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  endTerm();
  await running;
});

test('a sweep that hangs is given up, holds up no other group, and is not started again before it ends', async () => {
  const hang = Promise.withResolvers<Record<string, number>>();
  const hanging = vi.fn(() => hang.promise);
  const other = vi.fn(async () => ({}));
  const { clock, endTerm, running, said } = begin(
    { everyMs: 250, sweeps: [sweep('hanging', hanging)] },
    { everyMs: 250, sweeps: [sweep('other', other)] },
  );
  await clock.advance(5000);
  expect(hanging).toHaveBeenCalledOnce();
  expect(other.mock.calls.length).toBeGreaterThan(15);
  expect(said().filter((line) => line === 'the sweep takes too long')).toHaveLength(1);

  hang.resolve({});
  await clock.advance(500);
  expect(hanging.mock.calls.length).toBeGreaterThan(1);
  endTerm();
  await running;
});

test('a sweep that fails is tried again; that is said once, and once when it works again', async () => {
  let isBroken = true;
  const run = vi.fn(async () => {
    if (isBroken) throw new AppError({ code: 'store_unavailable', message: 'away' });
    return { turn: 2, other: 0 };
  });
  const { clock, endTerm, metrics, running, said } = begin({ everyMs: 250, sweeps: [sweep('s', run)] });
  await clock.advance(1000);
  expect(await metrics.text()).not.toContain('sweep_last_success_timestamp_seconds{');
  isBroken = false;
  await clock.advance(250);
  endTerm();
  await running;

  const lines = said().filter((line) => line.includes('sweep'));
  expect(lines).toEqual(['the sweep failed; it is tried again', 'the sweep works again']);
  const text = await metrics.text();
  expect(text).toContain('turnkeeper_sweep_repairs_total{sweep="s",kind="turn"} 2');
  expect(text).not.toContain('kind="other"');
  expect(text).toMatch(/turnkeeper_sweep_last_success_timestamp_seconds\{sweep="s"\} \d+/);
});

test('when the term ends nothing is started any more, and what only the leader tells is taken back', async () => {
  const hanging = vi.fn(() => new Promise<Record<string, number>>(() => undefined));
  const next = vi.fn(async () => ({}));
  const end = vi.fn();
  const { endTerm, metrics, running } = begin({
    everyMs: 250,
    sweeps: [sweep('hanging', hanging, end), sweep('next', next)],
  });
  expect(await metrics.text()).toContain('turnkeeper_leader 1');
  endTerm();
  await running;
  expect(next).not.toHaveBeenCalled();
  expect(end).toHaveBeenCalledOnce();
  expect(await metrics.text()).toContain('turnkeeper_leader 0');
});
