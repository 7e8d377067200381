import { LiveText, type StreamEvent } from '@turnkeeper/client';
import { wordsForEnd } from './words.ts';

export interface Attachment {
  readonly kind: string;
  readonly ref: string;
  readonly name?: string;
  readonly mime?: string;
  /** Bytes. */
  readonly size?: number;
}

/** Something that was said, or that happened. */
export interface Entry {
  readonly id: string;
  readonly from: 'you' | 'assistant' | 'person' | 'notice';
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly at: string;
}

/** A question that a turn waits for. */
export interface Question {
  readonly inputId: string;
  readonly prompt: string;
  readonly options: readonly string[];
}

/** A room as it is known here. */
export interface View {
  readonly entries: readonly Entry[];
  /** What the assistant is writing. */
  readonly liveText: string;
  /** A turn runs. */
  readonly isRunning: boolean;
  readonly question: Question | null;
}

type Event = StreamEvent & { readonly id?: string };

/**
 * Makes of the events of a room what is shown. Each durable event comes once, in order, on whatever connection; they alone
 * make entries. Deltas only show what is being written until its `message.created` is there.
 */
export class Conversation {
  readonly #live = new LiveText();
  #view: View = { entries: [], liveText: '', isRunning: false, question: null };
  #cursor: string | null = null;

  get view(): View {
    return this.#view;
  }

  /** Where to go on; the beginning at first. */
  get cursor(): string {
    return this.#cursor ?? '0';
  }

  /** Takes an event; gives the `clientId` of a message of ours that it brings, which is not on its way any more. */
  add(event: Event): string | null {
    if (event.id !== undefined) this.#cursor = event.id;
    if (event.type === 'stream.reset') this.#forget();
    if (this.#live.add(event)) this.#change({ liveText: this.#live.text });
    if (event.type === 'turn.started') this.#change({ isRunning: true });
    if (event.type === 'turn.finished' || event.type === 'turn.interrupted') this.#change({ isRunning: false });
    if (event.type === 'notice.created') this.#notice(event, event.data);
    if (event.type === 'run.settled') this.#settled(event);
    if (event.type === 'input.required') this.#change({ question: questionOf(event.data), isRunning: false });
    if (event.type === 'input.resolved') this.#change({ question: null });
    return event.type === 'message.created' ? this.#message(event) : null;
  }

  #message({ data, at }: Extract<Event, { type: 'message.created' }>): string | null {
    const { messageId, role, author, text, parts, clientId } = data as typeof data & { clientId?: string };
    if (role !== 'user' && role !== 'assistant') return null;
    const spoken = author === 'human' ? 'person' : 'assistant';
    const attachments = (parts as readonly (Attachment & { type?: string })[]).filter(
      ({ ref }) => typeof ref === 'string',
    );
    this.#append({ id: messageId, from: role === 'user' ? 'you' : spoken, text, attachments, at });
    return role === 'user' ? (clientId ?? null) : null;
  }

  #notice({ seq, at }: Event, { code, text }: { readonly code: string; readonly text: string }): void {
    // the question itself is shown
    if (code === 'input_required') return;
    this.#append({ id: `notice-${seq}-${code}`, from: 'notice', text, attachments: [], at });
  }

  /** A message that ended without an answer says so. */
  #settled({ seq, at, data }: Extract<Event, { type: 'run.settled' }>): void {
    const { status, error, runId } = data;
    if (status !== 'error' && status !== 'timeout' && status !== 'refused' && status !== 'parked') return;
    const text = wordsForEnd(status === 'timeout' ? 'turn_timeout' : error?.code);
    this.#append({ id: `end-${seq}-${runId}`, from: 'notice', text, attachments: [], at });
  }

  #append(entry: Entry): void {
    if (this.#view.entries.some(({ id }) => id === entry.id)) return;
    this.#change({ entries: [...this.#view.entries, entry] });
  }

  /** The server knows nothing of our cursor: everything comes again. */
  #forget(): void {
    this.#cursor = null;
    this.#change({ entries: [], question: null, isRunning: false });
  }

  #change(part: Partial<View>): void {
    this.#view = { ...this.#view, ...part };
  }
}

function questionOf({ inputId, prompt, options }: Readonly<Record<string, unknown>>): Question {
  const text = typeof prompt === 'string' ? prompt : '';
  return { inputId: String(inputId), prompt: text, options: Array.isArray(options) ? options.map(String) : [] };
}
