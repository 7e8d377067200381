import type { StreamEvent } from './stream-events.ts';

/**
 * The text of the turn under way, from its deltas (docs/streaming.md): another attempt clears it, a delta behind its end
 * leaves a gap, one before its end cuts it. When the turn ends it is empty again: `message.created` has the whole.
 */
export class LiveText {
  #turn = '';
  #parts: { text: string; end: number }[] = [];

  get text(): string {
    return this.#parts.map(({ text }) => text).join('');
  }

  /** Takes any event of a stream; true when the text is another now. */
  add(event: StreamEvent): boolean {
    const before = this.text;
    if (event.type === 'turn.started') this.#begin(event);
    if (event.type === 'turn.snapshot') this.#take(event);
    if (event.type === 'message.delta') this.#append(event);
    if (isEnd(event)) this.#parts = [];
    return this.text !== before;
  }

  #begin({ turnId, attempt }: Pick<StreamEvent, 'turnId' | 'attempt'>): void {
    const turn = `${turnId}/${attempt}`;
    if (turn !== this.#turn) this.#parts = [];
    this.#turn = turn;
  }

  #take(event: Extract<StreamEvent, { type: 'turn.snapshot' }>): void {
    this.#begin(event);
    const texts = (event.data.parts as readonly { text?: unknown }[]).map(({ text }) => String(text ?? ''));
    this.#parts = texts.map((text) => ({ text, end: text.length }));
  }

  #append(event: Extract<StreamEvent, { type: 'message.delta' }>): void {
    this.#begin(event);
    const { part, offset, text } = event.data;
    while (this.#parts.length <= part) this.#parts.push({ text: '', end: 0 });
    const known = this.#parts[part] ?? { text: '', end: 0 };
    const kept =
      offset < known.end ? known.text.slice(0, Math.max(0, known.text.length - (known.end - offset))) : known.text;
    this.#parts[part] = { text: kept + text, end: offset + text.length };
  }
}

function isEnd({ type, data }: StreamEvent): boolean {
  // what a stopped turn had said may come when the next one speaks
  if (type === 'message.created') return data.role === 'assistant' && data.cut !== true;
  return type === 'turn.finished' || type === 'turn.interrupted';
}
