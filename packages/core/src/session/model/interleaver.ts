import type { Ids } from '../../clock.ts';
import { StoreError } from '../../errors.ts';

interface Step {
  readonly by: string;
  readonly resume: () => void;
}

/**
 * Decides, from a seed, what happens next among all that could: every request to a fake service waits here once before
 * it has its effect and once before its answer arrives.
 */
export class Interleaver {
  readonly #random: Ids;
  readonly #killed = new Set<string>();
  #steps: Step[] = [];
  /** Probability that a request fails with an unknown outcome, half of the time after its effect. */
  faultRate = 0;

  constructor(random: Ids) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random.random() < probability;
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random.random() * items.length)];
  }

  /** Resolves when its turn has come; never, when whoever waits was killed. */
  async step(by: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (!this.#killed.has(by)) this.#steps.push({ by, resume: resolve });
    await promise;
  }

  /** A request of `by`: its effect happens at one moment, its answer arrives at a later one, or not at all. */
  async request<Answer>(by: string, effect: () => Answer): Promise<Answer> {
    await this.step(by);
    const fails = this.chance(this.faultRate);
    if (fails && this.chance(0.5)) throw lost();
    const answer = effect();
    await this.step(by);
    if (fails) throw lost();
    return answer;
  }

  kill(by: string): void {
    this.#killed.add(by);
    this.#steps = this.#steps.filter((step) => step.by !== by);
  }

  get isIdle(): boolean {
    return this.#steps.length === 0;
  }

  /** One of the waiting requests goes on. */
  async next(): Promise<void> {
    const step = this.pick(this.#steps);
    if (step === undefined) return;
    this.#steps.splice(this.#steps.indexOf(step), 1);
    step.resume();
    await this.settle();
  }

  /** Lets everything run on that waits for promises alone. */
  async settle(): Promise<void> {
    for (let i = 0; i < TURNS; i++) await Promise.resolve();
  }
}

/** More turns of the microtask queue than any chain of promises in a worker is long. */
const TURNS = 40;

function lost(): StoreError {
  return new StoreError({ failure: 'unknown', state: '08006', message: 'the connection was lost' });
}
