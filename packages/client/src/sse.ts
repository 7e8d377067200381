/** One server-sent event. */
export interface ServerSentEvent {
  /** What stood as `id:` with this event; none for events that are not to be resumed at. */
  readonly id: string | undefined;
  /** None: the id alone, where a reader stands though nothing has come. */
  readonly data: string | undefined;
}

/** Takes a text/event-stream in pieces, cut anywhere, and gives its events. Comments give none. */
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
    if (field === 'data') this.#data.push(value);
    if (field === 'id') this.#id = value;
    return [];
  }

  #dispatch(): ServerSentEvent[] {
    const event = { id: this.#id, data: this.#data.length > 0 ? this.#data.join('\n') : undefined };
    this.#id = undefined;
    this.#data = [];
    return event.id === undefined && event.data === undefined ? [] : [event];
  }
}
