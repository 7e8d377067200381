import type { StreamEvent } from '@turnkeeper/protocol';
import { z } from 'zod';

const DeltaSchema = z.looseObject({ part: z.number(), offset: z.number(), text: z.string() });
const MessageSchema = z.looseObject({ role: z.string(), text: z.string() });

/**
 * The text of one reply as it comes: tells of each event what to print next. Deltas may be lost, doubled, or begin anew
 * with another attempt; the durable message holds the whole, and what is printed in the end is always all of it.
 */
export class ReplyText {
  #attempt = '';
  /** Text of the parts so far, as printed. */
  #shown: string[] = [];
  #hasGap = false;

  /** What to print for this event; empty for one that adds nothing. */
  next(event: Pick<StreamEvent, 'type' | 'data' | 'turnId' | 'attempt'>): string {
    if (event.type === 'message.delta') return this.#delta(event);
    if (event.type !== 'message.created') return '';
    const message = MessageSchema.safeParse(event.data);
    return message.success && message.data.role === 'assistant' ? this.whole(message.data.text) : '';
  }

  /** What is missing when the whole text is this. */
  whole(text: string): string {
    const shown = this.#shown.join('\n');
    this.#shown = [text];
    this.#hasGap = false;
    if (text.startsWith(shown)) return text.slice(shown.length);
    return `\n${text}`;
  }

  #delta(event: Pick<StreamEvent, 'data' | 'turnId' | 'attempt'>): string {
    const delta = DeltaSchema.safeParse(event.data);
    if (!delta.success) return '';
    const again = this.#beginAttempt(`${event.turnId}/${event.attempt}`);
    const { part, offset, text } = delta.data;
    if (this.#hasGap || part < this.#shown.length - 1) return again;
    const known = this.#shown[part] ?? '';
    // a piece is missing, of this part or a whole one: the message that follows holds it
    this.#hasGap = offset > known.length || part > this.#shown.length;
    if (this.#hasGap) return again;
    const added = text.slice(known.length - offset);
    const between = part > 0 && part === this.#shown.length ? '\n' : '';
    this.#shown[part] = known + added;
    return again + between + added;
  }

  #beginAttempt(attempt: string): string {
    if (attempt === this.#attempt) return '';
    const hasBegun = this.#shown.length > 0;
    this.#attempt = attempt;
    this.#shown = [];
    this.#hasGap = false;
    return hasBegun ? '\n' : '';
  }
}
