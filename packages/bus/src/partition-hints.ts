import type { Counter, WakeUp, WakeUps } from '@turnkeeper/core';
import { readHint, writeHint } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { hintSubject } from './subjects.ts';

export interface PartitionHintsOptions {
  readonly link: BusLink;
  /** `activations_total`, by outcome: hinted, hint_dropped, hint_received, hint_malformed (all per message). */
  readonly outcomes: Counter;
}

export interface ListenOptions {
  readonly partition: number;
  /** Called in the order in which hints arrive; must only take note. */
  readonly onWakeUps: (wakeUps: readonly WakeUp[] | 'scan') => void;
}

/** The fast path of wake-ups: one message per partition and call, sent at once to whoever owns the partition. */
export class PartitionHints implements WakeUps {
  readonly #link: BusLink;
  readonly #outcomes: Counter;

  constructor(options: PartitionHintsOptions) {
    this.#link = options.link;
    this.#outcomes = options.outcomes;
  }

  wake(partition: number, wakeUps: readonly WakeUp[]): void {
    if (wakeUps.length === 0) return;
    const sent = this.#link.publish(hintSubject(this.#link.prefix, partition), writeHint(wakeUps));
    this.#outcomes.inc({ outcome: sent ? 'hinted' : 'hint_dropped' });
  }

  /** Until the returned function is called. */
  listen({ partition, onWakeUps }: ListenOptions): () => void {
    return this.#link.subscribe(hintSubject(this.#link.prefix, partition), (text) => {
      const wakeUps = readHint(text);
      this.#outcomes.inc({ outcome: wakeUps === null ? 'hint_malformed' : 'hint_received' });
      if (wakeUps !== null) onWakeUps(wakeUps);
    });
  }
}
