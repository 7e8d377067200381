/**
 * Where a reader stands in a stream: behind a seq, or, while more events of the same seq are to come, behind the nth of
 * them (`seq.n`).
 */
export class Cursor {
  #text: string | undefined;

  constructor(text?: string | number) {
    this.#text = text === undefined ? undefined : String(text);
  }

  /** What `Last-Event-ID` says; none: from now on. */
  get text(): string | undefined {
    return this.#text;
  }

  /** Moves to an event; false when it is not behind where the reader stands, so that it has been there already. */
  advance(id: string): boolean {
    if (this.#text !== undefined && !isAfter(id, this.#text)) return false;
    this.#text = id;
    return true;
  }

  /** The stream begins anew: what the reader had is of no use. */
  reset(seq: number): void {
    this.#text = String(seq);
  }
}

function isAfter(id: string, other: string): boolean {
  const [seq, told] = placeOf(id);
  const [otherSeq, otherTold] = placeOf(other);
  return seq > otherSeq || (seq === otherSeq && told > otherTold);
}

/** `7.2` is in the middle of 7, `7` at its end. */
function placeOf(id: string): [seq: number, told: number] {
  const [seq, told] = id.split('.');
  return [Number(seq), told === undefined ? Number.POSITIVE_INFINITY : Number(told)];
}
