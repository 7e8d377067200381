/** One server-sent event. */
export interface ServerSentEvent {
  /** What stood as `id:` with this event; none for events that are not to be resumed at. */
  readonly id: string | undefined;
  /** None: a comment that says where a reader stands though nothing has come; `id` is that place. */
  readonly data: string | undefined;
}

const PLACE = 'cursor ';

/** Takes a text/event-stream in pieces, cut anywhere, and gives its events. Comments give none, but for `: cursor …`. */
export class SseParser {
  #rest = '';
  #id: string | undefined;
  #data: string[] = [];

  /** The events that the piece completes. */
  push(piece: string): ServerSentEvent[] {
    const text = this.#rest + piece;
    // a CR at the end may be half of a CRLF
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): ServerSentEvent[] {
    if (line === '') return this.#dispatch();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === '' && value.startsWith(PLACE)) return [{ id: value.slice(PLACE.length), data: undefined }];
    if (field === 'data') this.#data.push(value);
    if (field === 'id') this.#id = value;
    return [];
  }

  #dispatch(): ServerSentEvent[] {
    const events = this.#data.length > 0 ? [{ id: this.#id, data: this.#data.join('\n') }] : [];
    this.#id = undefined;
    this.#data = [];
    return events;
  }
}
