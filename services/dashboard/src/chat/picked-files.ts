import { FileFault, type Files } from './files.ts';
import type { Upload } from './outbox.ts';
import { sizeWords } from './size-words.ts';

/** A file that was chosen for the next message. */
export interface Picked {
  readonly key: number;
  readonly file: File;
  readonly state: 'sending' | 'sent' | 'failed';
  /** How much has been sent, 0 to 1. */
  readonly progress: number;
  readonly upload: Upload | null;
  /** Why it cannot go with the message, as in `<name> <fault>`. */
  readonly fault: string | null;
  readonly isPassing: boolean;
}

export interface PickedState {
  readonly picked: readonly Picked[];
  /** What has just become of them, for who listens, and for who chose more than can be taken. */
  readonly news: string;
  readonly alert: string | null;
}

export interface PickedOptions {
  readonly files: Pick<Files, 'upload'>;
  readonly fileBytesMax: number;
  readonly filesMax: number;
}

/**
 * The files of the next message. Each is sent as soon as it is chosen; what cannot be is said at once, without sending it.
 *
 *   sending ─► sent; failed ─ `retry`, when that may help ─► sending
 */
export class PickedFiles {
  readonly #options: PickedOptions;
  readonly #listeners = new Set<() => void>();
  readonly #aborts = new Map<number, AbortController>();
  #state: PickedState = { picked: [], news: '', alert: null };
  #next = 0;

  constructor(options: PickedOptions) {
    this.#options = options;
  }

  /** For React's `useSyncExternalStore`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly state = (): PickedState => this.#state;

  add(files: readonly File[]): void {
    const { filesMax } = this.#options;
    const room = filesMax - this.#state.picked.length;
    const left = files.length - room;
    this.#show({ alert: left > 0 ? `A message takes ${filesMax} files: ${left} not added.` : null });
    for (const file of files.slice(0, Math.max(0, room))) {
      const key = this.#next++;
      const picked = { key, file, progress: 0, upload: null, fault: null, isPassing: false };
      this.#show({ picked: [...this.#state.picked, { ...picked, state: 'sending' }] });
      this.#begin(key, file);
    }
  }

  remove(key: number): void {
    this.#aborts.get(key)?.abort();
    this.#aborts.delete(key);
    const gone = this.#state.picked.find((one) => one.key === key);
    const picked = this.#state.picked.filter((one) => one !== gone);
    this.#show({ picked, alert: null, ...(gone !== undefined && { news: `${gone.file.name} is removed.` }) });
  }

  /** Tries again what may work now: one, or all. */
  retry(key?: number): void {
    for (const one of this.#state.picked) {
      if (one.state !== 'failed' || !one.isPassing || (key !== undefined && one.key !== key)) continue;
      this.#settle(one.key, { state: 'sending', progress: 0, fault: null });
      this.#begin(one.key, one.file);
    }
  }

  /** Those that are there, for a message that takes them along. */
  take(): readonly Upload[] {
    const uploads = this.#state.picked.flatMap(({ upload }) => upload ?? []);
    this.#show({ picked: this.#state.picked.filter(({ state }) => state !== 'sent'), alert: null });
    return uploads;
  }

  #begin(key: number, file: File): void {
    const fault = this.#faultOf(file);
    if (fault !== null) this.#failed(key, file, new FileFault(fault, { isPassing: false }));
    else void this.#send(key, file);
  }

  async #send(key: number, file: File): Promise<void> {
    const abort = new AbortController();
    this.#aborts.set(key, abort);
    try {
      const onProgress = (progress: number) => this.#settle(key, { progress });
      const upload = await this.#options.files.upload(file, { onProgress, signal: abort.signal });
      this.#settle(key, { state: 'sent', progress: 1, upload }, `${file.name} is attached.`);
    } catch (error) {
      const unknown = new FileFault('could not be sent', { isPassing: true });
      this.#failed(key, file, error instanceof FileFault ? error : unknown);
    } finally {
      this.#aborts.delete(key);
    }
  }

  #failed(key: number, { name }: File, { message, isPassing }: FileFault): void {
    this.#settle(key, { state: 'failed', fault: message, isPassing }, `${name} ${message}.`);
  }

  #faultOf({ size }: File): string | null {
    const { fileBytesMax } = this.#options;
    if (size === 0) return 'is empty, or a folder';
    return size > fileBytesMax ? `is too large: ${sizeWords(size)} of at most ${sizeWords(fileBytesMax)}` : null;
  }

  /** One that was removed meanwhile is not heard of any more. */
  #settle(key: number, part: Partial<Picked>, news?: string): void {
    if (!this.#state.picked.some((one) => one.key === key)) return;
    const picked = this.#state.picked.map((one) => (one.key === key ? { ...one, ...part } : one));
    this.#show({ picked, ...(news !== undefined && { news }) });
  }

  #show(part: Partial<PickedState>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#listeners) listener();
  }
}
