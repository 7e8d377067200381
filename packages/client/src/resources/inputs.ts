import type { AnswerOf } from '../operations.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type InputAnswer = AnswerOf<'answerInput'>;

/** `/v1/inputs`: questions of turns to people. */
export class Inputs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Answers what a run with `status: "waiting"` asks (its `inputId`). The first answer counts. */
  answer(inputId: string, text: string, options?: CallOptions): Promise<InputAnswer> {
    const path = `/v1/inputs/${encodeURIComponent(inputId)}/answer`;
    return this.#transport.json({ method: 'POST', path, body: { text } }, options);
  }
}
