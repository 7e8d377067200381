import type { DurableEvent, LaneId, LaneRef, LiveEvent } from '@turnkeeper/core';

/** Live events kept for all lanes; above it they are lost, as they may be. */
const HELD_MAX = 2_000;
/** Lanes that wait to be read; others are found by the next look at the rows. */
const WANTED_MAX = 20_000;

/** Lanes of a tenant that are to be read, and the live events that wait until they have been. */
export class LaneHints {
  readonly #pass: (event: LiveEvent) => void;
  readonly #wanted = new Map<LaneId, LaneRef>();
  readonly #held = new Map<LaneId, LiveEvent[]>();
  #heldCount = 0;

  constructor(pass: (event: LiveEvent) => void) {
    this.#pass = pass;
  }

  /** Lanes that wait. */
  get size(): number {
    return this.#wanted.size;
  }

  /** False: too many wait already, and this one does not. */
  want(lane: LaneRef): boolean {
    if (this.#wanted.has(lane.laneId)) return true;
    if (this.#wanted.size >= WANTED_MAX) return false;
    this.#wanted.set(lane.laneId, lane);
    if (!this.#held.has(lane.laneId)) this.#held.set(lane.laneId, []);
    return true;
  }

  /** The next lanes to be read. */
  take(count: number): LaneRef[] {
    const lanes: LaneRef[] = [];
    for (const lane of this.#wanted.values()) {
      if (lanes.length >= count) break;
      lanes.push(lane);
    }
    for (const { laneId } of lanes) this.#wanted.delete(laneId);
    return lanes;
  }

  /** At once, or behind the rows of its lane: a delta comes after what began its turn. */
  pass({ laneId }: LaneRef, event: LiveEvent): void {
    const held = this.#held.get(laneId);
    if (held === undefined) this.#pass(event);
    else if (this.#heldCount < HELD_MAX) {
      held.push(event);
      this.#heldCount++;
    }
  }

  /** The lane has been read: what waited for it follows, but for turns that ended. */
  told({ laneId }: LaneRef, events: readonly DurableEvent[]): void {
    if (this.#wanted.has(laneId)) return;
    const held = this.#held.get(laneId) ?? [];
    this.#held.delete(laneId);
    this.#heldCount -= held.length;
    const ended = new Set(
      events.flatMap(({ type, turnId }) => (ENDS.has(type) && turnId !== undefined ? [turnId] : [])),
    );
    for (const event of held) if (event.turnId === undefined || !ended.has(event.turnId)) this.#pass(event);
  }

  close(): void {
    this.#wanted.clear();
    this.#held.clear();
    this.#heldCount = 0;
  }
}

const ENDS: ReadonlySet<string> = new Set(['turn.finished', 'turn.interrupted']);
