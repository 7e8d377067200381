import { describe, expect, it } from 'vitest';
import { type Arrival, judge, type Sent } from './judge.ts';

/** Three messages of one lane, one after another, each answered by its own turn. */
function history(): { sent: Sent[]; arrivals: Arrival[] } {
  const indexes = [0, 1, 2];
  return {
    sent: indexes.map((i) => ({ lane: 'a', sentAtMs: i * 10, acceptedAtMs: i * 10 + 5, runId: `run_${i}` })),
    arrivals: indexes.map((i) => arrival(i)),
  };
}

function arrival(i: number, change: Partial<Arrival> = {}): Arrival {
  return {
    lane: 'a',
    deliveryId: `dlv_${i}`,
    runId: `run_${i}`,
    turnId: `trn_${i}`,
    seq: i * 2 + 2,
    recovered: false,
    startedAtMs: 1000 + i * 10,
    finishedAtMs: 1000 + i * 10 + 9,
    ...change,
  };
}

const CLEAN = { accepted: 3, answered: 3, lost: 0, doubled: 0, reordered: 0, overlapping: 0 };

describe('the judge of a load run', () => {
  it('finds nothing in a clean history', () => {
    const { sent, arrivals } = history();
    expect(judge(sent, arrivals)).toEqual(CLEAN);
  });

  it('catches an accepted message that is never answered', () => {
    const { sent, arrivals } = history();
    expect(judge(sent, arrivals.slice(0, 2))).toEqual({ ...CLEAN, answered: 2, lost: 1 });
  });

  it('catches a second delivery for a run', () => {
    const { sent, arrivals } = history();
    const again = arrival(1, { deliveryId: 'dlv_9', seq: 20, turnId: 'trn_9', startedAtMs: 2000, finishedAtMs: 2001 });
    expect(judge(sent, [...arrivals, again])).toEqual({ ...CLEAN, doubled: 1 });
  });

  it('catches a delivery that comes again without the notice, and allows it with the notice', () => {
    const { sent, arrivals } = history();
    expect(judge(sent, [...arrivals, arrival(1)]).doubled).toBe(1);
    expect(judge(sent, [...arrivals, arrival(1, { recovered: true })])).toEqual(CLEAN);
  });

  it('catches a delivery that comes with the notice more than once: an uncertain send is sent again at most once', () => {
    const { sent, arrivals } = history();
    const again = arrival(1, { recovered: true });
    expect(judge(sent, [...arrivals, again, again]).doubled).toBe(1);
    expect(judge(sent, [arrivals[0] as Arrival, again, arrivals[2] as Arrival])).toEqual(CLEAN);
  });

  it('catches a message consumed before one that was accepted before it was sent', () => {
    const { sent, arrivals } = history();
    const swapped = [arrival(1, { seq: 2 }), arrival(0, { seq: 4 }), ...arrivals.slice(2)];
    expect(
      judge(
        sent,
        swapped.toSorted((a, b) => a.seq - b.seq),
      ).reordered,
    ).toBe(1);
  });

  it('allows any order of messages that were in flight together', () => {
    const { sent, arrivals } = history();
    const concurrent = sent.map((one) => ({ ...one, sentAtMs: 0 }));
    const swapped = [arrival(1, { seq: 2 }), arrival(0, { seq: 4 }), ...arrivals.slice(2)];
    expect(judge(concurrent, swapped).reordered).toBe(0);
  });

  it('catches a reply that overtakes an earlier one of its lane, unless it is a marked resend', () => {
    const { sent, arrivals } = history();
    const [first, second, third] = arrivals;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three arrivals expected');
    expect(judge(sent, [second, first, third]).reordered).toBe(1);
    expect(judge(sent, [second, { ...first, recovered: true }, third]).reordered).toBe(0);
  });

  it('catches two turns of a lane whose times cross', () => {
    const { sent, arrivals } = history();
    const crossing = arrivals.map((one, i) => (i === 1 ? { ...one, startedAtMs: 1005 } : one));
    expect(judge(sent, crossing)).toEqual({ ...CLEAN, overlapping: 1 });
  });

  it('keeps lanes apart', () => {
    const { sent, arrivals } = history();
    const other = arrivals.map((one, i) => ({ ...one, lane: `lane-${i}`, startedAtMs: 1000, finishedAtMs: 1500 }));
    expect(
      judge(
        sent.map((one, i) => ({ ...one, lane: `lane-${i}` })),
        other,
      ),
    ).toEqual(CLEAN);
  });
});
