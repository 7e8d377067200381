import { systemClock, systemIds } from '@turnkeeper/platform/process';
import { sentenceOf } from '../exit.ts';
import { Backoff } from './restarts.ts';
import {
  type Ready,
  type RunningService,
  type ServiceKind,
  type ServiceSpec,
  ServiceStartError,
  startService,
} from './service-process.ts';
import type { UpProcess } from './up-file.ts';

export interface SupervisorParts {
  readonly logDir: string;
  /** Told in one line what happened. */
  readonly inform: (line: string) => void;
  /** Called whenever the list of processes has changed. */
  readonly onChange: () => void;
}

interface Member {
  spec: ServiceSpec;
  readonly backoff: Backoff;
  running: RunningService | null;
  /** Where it listens, or listened: it comes back to the same ports. */
  ready: Ready | null;
}

/**
 * Keeps the services running: starts each, starts it again when it ends, ends all of them.
 *
 *   start → ready → (ended by itself) → wait → start …
 *                 → drain: SIGTERM → ended;  hasten: a second SIGTERM;  kill: SIGKILL
 */
export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #members: Member[] = [];
  readonly #stopping = new AbortController();

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  /** Starts all of them at once. @throws CliError when one of them does not come up; the others go on until `drain` */
  async start(specs: readonly ServiceSpec[]): Promise<void> {
    const members = specs.map(
      (spec): Member => ({
        spec,
        backoff: new Backoff(systemClock, systemIds),
        running: null,
        ready: null,
      }),
    );
    this.#members.push(...members);
    const outcomes = await Promise.allSettled(members.map((member) => this.#startMember(member)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** What runs now, in the order in which it was asked for. */
  processes(): UpProcess[] {
    return this.#members.flatMap(({ spec, running }) =>
      running
        ? [
            {
              name: spec.name,
              pid: running.child.pid,
              bootId: running.ready.bootId,
              internal: internalOf(running.ready),
            },
          ]
        : [],
    );
  }

  /** Of every service of this kind, also of one that is just being started again. */
  addresses(kind: ServiceKind): { readonly public: string; readonly internal: string }[] {
    return this.#members.flatMap(({ spec, ready }) =>
      ready && spec.kind === kind
        ? [{ public: `http://127.0.0.1:${ready.publicPort}`, internal: internalOf(ready) }]
        : [],
    );
  }

  /** Lets them finish their work; resolves when none is left. */
  async drain(): Promise<void> {
    this.#stopping.abort();
    this.#signal('SIGTERM');
    await Promise.all(this.#members.map(({ running }) => running?.child.ended));
  }

  /** No more patience with work in flight: it is handed back. */
  hasten(): void {
    this.#signal('SIGTERM');
  }

  kill(): void {
    this.#signal('SIGKILL');
  }

  #signal(signal: NodeJS.Signals): void {
    for (const { running } of this.#members) if (running?.child.alive) running.child.process.kill(signal);
  }

  async #startMember(member: Member): Promise<void> {
    const running = await this.#launch(member);
    member.running = running;
    member.ready = running.ready;
    member.backoff.started();
    if (this.#stopping.signal.aborted) running.child.process.kill('SIGTERM');
    this.#parts.onChange();
    void running.child.ended.then((end) => this.#ended(member, end.signal ?? `code ${end.code}`));
  }

  async #launch(member: Member): Promise<RunningService> {
    for (;;) {
      const { spec, ready } = member;
      const env = ready ? { ...spec.env, TURNKEEPER_INTERNAL_PORT: String(ready.internalPort) } : spec.env;
      try {
        return await startService({ ...spec, env }, this.#parts.logDir);
      } catch (err) {
        const portTaken = err instanceof ServiceStartError && err.code === 'EADDRINUSE';
        // who has listened before comes back to its address, others may move
        const moved = portTaken && !ready ? await spec.elsewhere() : null;
        if (moved === null) throw err;
        member.spec = moved;
      }
    }
  }

  async #ended(member: Member, how: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    member.running = null;
    this.#parts.onChange();
    while (!this.#stopping.signal.aborted) {
      this.#parts.inform(`${member.spec.name} ended (${how}); it is started again`);
      await systemClock.sleep(member.backoff.nextMs(), this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#startMember(member);
        this.#parts.inform(`${member.spec.name} is back`);
        return;
      } catch (err) {
        this.#parts.inform(sentenceOf(err));
      }
    }
  }
}

function internalOf(ready: Ready): string {
  return `http://127.0.0.1:${ready.internalPort}`;
}
