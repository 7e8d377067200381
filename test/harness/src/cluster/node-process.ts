import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProcessMessage } from '@turnkeeper/platform/process';

const READY_DEADLINE_MS = 180_000;
const LOG_LINES_MAX = 400;

export type NodeKind = 'ingress' | 'session-worker' | 'coordinator';

/** One service process of a test cluster. Its identity changes with each restart; its name stays. */
export interface NodeProcess {
  readonly kind: NodeKind;
  readonly name: string;
  readonly pid: number;
  readonly bootId: string;
  /** Public address; only ingress has one. */
  readonly url: string;
  readonly internalUrl: string;
  readonly alive: boolean;
  /** The last lines it wrote. */
  readonly log: readonly string[];
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or null after a signal. */
  readonly exited: Promise<number | null>;
  /** Starts a new incarnation once this one has ended; `program`, when given, is from then on the folder of its sources. */
  restart(env?: Readonly<Record<string, string>>, program?: string): Promise<void>;
}

export interface NodeOptions {
  readonly kind: NodeKind;
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folder of another checkout whose sources it runs; this one's when absent. */
  readonly program?: string;
}

const THIS_CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Starts a service from its sources and waits until it says that it is ready. @throws Error with its last lines when it does not */
export async function startNode(options: NodeOptions): Promise<NodeProcess> {
  const node = new Node(options);
  await node.start(options.env);
  return node;
}

class Node implements NodeProcess {
  readonly kind: NodeKind;
  readonly name: string;
  readonly log: string[] = [];
  readonly #env: Readonly<Record<string, string>>;
  #program: string;
  #child: ChildProcess | null = null;
  #ready: Extract<ProcessMessage, { type: 'ready' }> | null = null;
  #exited: Promise<number | null> = Promise.resolve(null);

  constructor(options: NodeOptions) {
    this.kind = options.kind;
    this.name = options.name;
    this.#env = options.env;
    this.#program = options.program ?? THIS_CHECKOUT;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }
  get bootId(): string {
    return this.#ready?.bootId ?? '';
  }
  get url(): string {
    return `http://127.0.0.1:${this.#ready?.publicPort ?? 0}`;
  }
  get internalUrl(): string {
    return `http://127.0.0.1:${this.#ready?.internalPort ?? 0}`;
  }
  get alive(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }
  get exited(): Promise<number | null> {
    return this.#exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async restart(env: Readonly<Record<string, string>> = this.#env, program = this.#program): Promise<void> {
    await this.#exited;
    this.#program = program;
    await this.start(env);
  }

  async start(env: Readonly<Record<string, string>>): Promise<void> {
    const main = join(this.#program, 'services', this.kind, 'src', 'main.ts');
    const child = fork(main, [], {
      env: { ...inherited(), ...env, TURNKEEPER_NODE_NAME: this.name },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: [],
    });
    this.#child = child;
    child.stdout?.on('data', (chunk: Buffer) => this.#keep(chunk));
    child.stderr?.on('data', (chunk: Buffer) => this.#keep(chunk));
    this.#exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    this.#ready = await this.#untilReady(child);
  }

  #untilReady(child: ChildProcess): Promise<Extract<ProcessMessage, { type: 'ready' }>> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        clearTimeout(timer);
        child.kill('SIGKILL');
        reject(new Error(`${this.name} ${why}\n${this.log.slice(-20).join('\n')}`));
      };
      const timer = setTimeout(() => fail(`was not ready within ${READY_DEADLINE_MS} ms`), READY_DEADLINE_MS);
      child.once('exit', (code, signal) => fail(`ended with ${code ?? signal} before it was ready`));
      child.on('message', (message: ProcessMessage) => {
        if (message.type !== 'ready') return fail(message.message);
        clearTimeout(timer);
        child.removeAllListeners('exit');
        child.removeAllListeners('message');
        this.#exited = new Promise((done) => child.once('exit', (code) => done(code)));
        resolve(message);
      });
    });
  }

  #keep(chunk: Buffer): void {
    for (const line of chunk.toString('utf8').split('\n')) if (line !== '') this.log.push(line);
    if (this.log.length > LOG_LINES_MAX) this.log.splice(0, this.log.length - LOG_LINES_MAX);
  }
}

/** A service sees only what a test gives it: no TURNKEEPER_* of the shell. */
function inherited(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !name.startsWith('TURNKEEPER_'),
  );
  return Object.fromEntries(entries) as Record<string, string>;
}
