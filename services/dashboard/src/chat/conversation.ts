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
  /** `other`: another visitor of the room. */
  readonly from: 'you' | 'other' | 'assistant' | 'person' | 'notice';
  /** Of another visitor, where its token says one. */
  readonly name?: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly at: string;
}

/** A question that a turn waits for. */
export interface Question {
  readonly inputId: string;
  readonly prompt: string;
  readonly options: readonly string[];
  readonly at: string;
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
  /** What was said here to questions, until the room shows it. */
  readonly #answers = new Map<string, string>();
  readonly #live = new LiveText();
  #view: View = { entries: [], liveText: '', isRunning: false, question: null };
  #cursor: string | null = null;
  #sub: string | null = null;

  get view(): View {
    return this.#view;
  }

  /** Where to go on; the beginning at first. */
  get cursor(): string {
    return this.#cursor ?? '0';
  }

  /** Who looks at it: the name in the visitor's token. */
  isSeenBy(sub: string): void {
    this.#sub = sub;
  }

  /** Takes an event; gives the `clientId` of a message of ours that it brings, which is not on its way any more. */
  add(event: Event): string | null {
    if (event.id !== undefined) this.#cursor = event.id;
    if (event.type === 'stream.reset') this.#forget();
    if (event.type === 'turn.interrupted' && event.data.reason === 'stop') this.#stopped(event);
    if (this.#live.add(event)) this.#change({ liveText: this.#live.text });
    if (event.type === 'turn.started') this.#change({ isRunning: true });
    if (event.type === 'turn.finished' || event.type === 'turn.interrupted') this.#change({ isRunning: false });
    if (event.type === 'notice.created') this.#notice(event, event.data);
    if (event.type === 'run.settled') this.#settled(event);
    if (event.type === 'input.required') this.#change({ question: questionOf(event), isRunning: false });
    if (event.type === 'input.resolved') this.#resolved(event);
    return event.type === 'message.created' ? this.#message(event) : null;
  }

  /** What this page says to a question. */
  answer(inputId: string, text: string): void {
    this.#answers.set(inputId, text);
  }

  /** What was said here to the question that is open. */
  get answered(): string | null {
    return this.#answers.get(this.#view.question?.inputId ?? '') ?? null;
  }

  /** What a stopped turn had written so far is shown until the transcript has it, and where it has not. */
  #stopped({ turnId, at }: Event): void {
    const attachments: readonly Attachment[] = [];
    const text = this.#live.text.trimEnd();
    if (text !== '') this.#append({ id: `cut-${turnId}`, from: 'assistant', text: `${text} …`, attachments, at });
    this.#append({ id: `stop-${turnId}`, from: 'notice', text: STOPPED, attachments, at });
  }

  /** The question and its answer stay. */
  #resolved({ data, at }: Extract<Event, { type: 'input.resolved' }>): void {
    const { question } = this.#view;
    this.#change({ question: null });
    if (question === null) return;
    const { inputId } = question;
    this.#asked(question);
    const note = ENDS_OF_QUESTIONS[String(data.outcome)];
    // an answer stands there already
    if (note !== undefined) this.#append({ id: `said-${inputId}`, from: 'notice', text: note, attachments: [], at });
    this.#answers.delete(inputId);
  }

  #message({ turnId, data, at }: Extract<Event, { type: 'message.created' }>): string | null {
    const { messageId, role, author, text, parts, clientId } = data;
    if (role !== 'user' && role !== 'assistant') return null;
    if (data.inputId !== undefined) return this.#answered(data.inputId, text, at);
    if (data.cut === true) return this.#cut(turnId, text, at);
    const spoken = author === 'human' ? 'person' : 'assistant';
    const attachments = (parts as readonly (Attachment & { type?: string })[]).filter(
      ({ ref }) => typeof ref === 'string',
    );
    const isOther = data.from !== undefined && data.from.sub !== this.#sub;
    const from = role === 'assistant' ? spoken : isOther ? 'other' : 'you';
    const name = isOther ? data.from?.name : undefined;
    this.#append({ id: messageId, from, ...(name !== undefined && { name }), text, attachments, at });
    // others may call their messages alike
    return from === 'you' ? (clientId ?? null) : null;
  }

  /** What a stopped turn had written stands where it was stopped. */
  #cut(turnId: string | undefined, text: string, at: string): null {
    const entry: Entry = { id: `cut-${turnId}`, from: 'assistant', text: `${text.trimEnd()} …`, attachments: [], at };
    const others = this.#view.entries.filter(({ id }) => id !== entry.id);
    const stop = others.findIndex(({ id }) => id === `stop-${turnId}`);
    this.#change({ entries: others.toSpliced(stop < 0 ? others.length : stop, 0, entry) });
    return null;
  }

  /** The question, then what was said to it, here or elsewhere: the answer comes before it is told that one came. */
  #answered(inputId: string, text: string, at: string): null {
    const { question } = this.#view;
    if (question?.inputId === inputId) this.#asked(question);
    this.#append({ id: `said-${inputId}`, from: 'you', text, attachments: [], at });
    return null;
  }

  #asked({ inputId, prompt, at }: Question): void {
    this.#append({ id: `asked-${inputId}`, from: 'assistant', text: prompt, attachments: [], at });
  }

  #notice({ seq, at }: Event, { code, text }: { readonly code: string; readonly text: string }): void {
    // the question itself is shown, and that a turn was stopped is said
    if (code === 'input_required') return;
    if (code === 'stopped' && this.#view.entries.at(-1)?.text === STOPPED) return;
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

function questionOf({ at, data }: Extract<Event, { type: 'input.required' }>): Question {
  const { inputId, prompt, options }: Readonly<Record<string, unknown>> = data;
  const text = typeof prompt === 'string' ? prompt : '';
  return { inputId: String(inputId), prompt: text, options: Array.isArray(options) ? options.map(String) : [], at };
}

const STOPPED = wordsForEnd('stopped');

/** An expired one ends its message, which says so. */
const ENDS_OF_QUESTIONS: Readonly<Record<string, string>> = {
  answered: 'Answered.',
  cancelled: 'The question was withdrawn.',
};
