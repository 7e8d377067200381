/** A piece of a reply, as `message.delta` tells it, and of which try it is. */
export interface Piece {
  readonly attempt: string;
  readonly part: number;
  /** UTF-16 units before it. */
  readonly offset: number;
  readonly text: string;
}

/**
 * The text of a reply for readers from whom nothing can be taken back. Pieces may be lost, come twice, or begin anew with
 * another attempt: what continues what was said is said, anything else waits for the whole.
 */
export class GrowingText {
  #said = '';
  #attempt = '';
  /** Units of this attempt that are known to be what was said. */
  #known = 0;
  /** A piece is missing, or this attempt says something else. */
  #isLost = false;

  /** What to say now; empty for nothing. */
  add({ attempt, part, offset, text }: Piece): string {
    if (attempt !== this.#attempt) {
      this.#attempt = attempt;
      this.#known = 0;
      this.#isLost = false;
    }
    if (this.#isLost || part !== 0 || offset > this.#known) {
      this.#isLost = true;
      return '';
    }
    const news = text.slice(this.#known - offset);
    const again = this.#said.slice(this.#known, this.#known + news.length);
    this.#isLost = !news.startsWith(again);
    if (this.#isLost) return '';
    this.#known += news.length;
    const more = news.slice(again.length);
    this.#said += more;
    return more;
  }

  /** What is missing of the whole; null when something else was said. */
  rest(whole: string): string | null {
    if (!whole.startsWith(this.#said)) return null;
    const more = whole.slice(this.#said.length);
    this.#said = whole;
    return more;
  }
}
