import { StoreError } from '../errors.ts';
import type { Logger } from '../ports/runtime.ts';
import type { StoppedWordsStore } from '../ports/transcripts.ts';
import { cleanText } from '../text.ts';
import type { RunningAgentTurn } from './turn.ts';
import type { TurnStream } from './turn-stream.ts';

export interface StoppedWordsOptions {
  readonly store: StoppedWordsStore;
  readonly stream: TurnStream;
  readonly log: Logger;
}

/**
 * What a turn had said when somebody stopped it: its readers have seen it, so it stays in the transcript. Whether the turn was
 * stopped, or lost in another way, its row says. Tried once: the words go with their worker, or when the store is away.
 */
export class StoppedWords {
  readonly #options: StoppedWordsOptions;

  constructor(options: StoppedWordsOptions) {
    this.#options = options;
  }

  /** Awaited before the lane goes on, so that the words stand before what comes next. Never rejects. */
  async keep({ claimed, messageId }: RunningAgentTurn): Promise<void> {
    const { store, stream, log } = this.#options;
    const text = cleanText(stream.saidSoFar(claimed), { nul: 0, loneSurrogate: 0 });
    if (text.trim() === '') return;
    const { lane, fence } = claimed;
    try {
      const seq = await store.keepWords({ lane, turnId: fence.turnId, messageId, text });
      if (seq !== null) stream.cut(claimed, { messageId, text, seq });
    } catch (error) {
      const about = { tenantId: lane.tenantId, laneId: lane.laneId, turnId: fence.turnId };
      if (error instanceof StoreError)
        log.warn({ ...about, code: error.code }, 'words of a stopped turn were not kept');
      else log.failed(error, about, 'words of a stopped turn could not be kept');
    }
  }
}
