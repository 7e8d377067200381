import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { AppError } from '@turnkeeper/core';
import { type Run, RunSchema, type StreamEvent } from '@turnkeeper/protocol';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { EXIT, exitCodeOf } from '../exit.ts';
import type { AttachedFile } from './attach-files.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { ReplyText } from './reply-text.ts';
import { streamRun } from './run-stream.ts';

export interface ConversationOptions {
  readonly url: string;
  readonly key: string;
  readonly agent: string;
  readonly sessionKey: string;
  /** Gets the reply, piece by piece. */
  readonly write: (text: string) => void;
  /** Told what the agent asks: what is said next answers it. */
  readonly onQuestion: (question: Asked) => void;
  /** Told, in a sentence, what came between. */
  readonly onNote: (sentence: string) => void;
  /** Told of each file that a reply brings. */
  readonly onFile: (file: { readonly name: string; readonly ref: string }) => void;
  /** In place of a timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What an agent asks. */
export type Asked = Pick<NonNullable<Run['input']>, 'prompt' | 'options'>;

/** A cluster that is stopped and started again on the same machine is back within this, however slow the machine. */
const PATIENCE_MS = 180_000;
const BACKOFF_MS = 300;
const BACKOFF_MS_MAX = 2_000;
const WAIT_SECONDS = 50;
/** An answer within this was not waited for: its node is about to leave. */
const EARLY_MS = 25_000;
const EARLY_PAUSE_MS = 500;

const SettledSchema = z.looseObject({
  status: z.string(),
  error: z.looseObject({ code: z.string() }).optional(),
});
const AcceptedSchema = z.looseObject({ runId: z.string() });

/** A message on its way to its end. */
class Followed {
  readonly reply = new ReplyText();
  /** Files of the reply that were named. */
  readonly told = new Set<string>();
  /** Empty until it is accepted. */
  runId = '';
  /** The last event that is told again to who asks for what follows it. */
  lastEventId: string | null = null;
}

/**
 * One conversation with an agent: each message is sent once, however often it takes to be sure, and its reply followed.
 * When the agent asks, what is said next is the answer.
 */
export class Conversation {
  readonly #options: ConversationOptions;
  #waiting: { readonly followed: Followed; readonly inputId: string } | null = null;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** The run whose question is open; null: the agent does not ask. */
  get waitingRunId(): string | null {
    return this.#waiting?.followed.runId ?? null;
  }

  /** Goes on with a run that waits since before: tells its question. */
  takeUp(run: Run): void {
    const followed = new Followed();
    followed.runId = run.runId;
    this.#ask(followed, run);
  }

  /**
   * Sends a message, or the answer to the question that is open, and writes the reply as it comes. A stream that breaks is
   * taken up where it broke.
   * @throws CliError `unreachable`; AppError with the server's code when it refuses the message
   */
  async say(text: string, signal: AbortSignal, attachments: readonly AttachedFile[] = []): Promise<Outcome> {
    if (this.#waiting !== null) return this.#answer(this.#waiting, text, signal);
    const { agent, sessionKey } = this.#options;
    const body = { agentId: agent, sessionKey, text, ...(attachments.length > 0 && { attachments }) };
    const headers = { 'idempotency-key': randomUUID() };
    const followed = new Followed();
    return this.#patiently(signal, () =>
      followed.lastEventId === null
        ? this.#follow(followed, { path: '/v1/messages?stream=true', body, headers, signal })
        : this.#followOn(followed, signal),
    );
  }

  async #answer(waiting: { followed: Followed; inputId: string }, text: string, signal: AbortSignal): Promise<Outcome> {
    const { url, key } = this.#options;
    const { followed, inputId } = waiting;
    let tries = 0;
    await this.#patiently(signal, async () => {
      tries++;
      const call = { url, key, method: 'POST', path: `/v1/inputs/${inputId}/answer`, body: { text }, signal } as const;
      await callApi(call).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'input_closed') throw error;
        // after a try that nobody answered it may have been our own
        if (tries === 1) this.#options.onNote(`What you wrote was not used: ${error.message}.`);
      });
    });
    this.#waiting = null;
    return this.#patiently(signal, () => this.#followOn(followed, signal));
  }

  /** Again and again while nothing answers, up to `PATIENCE_MS`. */
  async #patiently<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      try {
        return await act();
      } catch (error) {
        const pauseMs = Math.min(BACKOFF_MS * 2 ** tries, BACKOFF_MS_MAX) * (0.5 + Math.random() / 2);
        const isPatient = performance.now() + pauseMs < untilMs;
        if (signal.aborted || exitCodeOf(error) !== EXIT.unreachable || !isPatient) throw error;
        if (tries === 1) this.#options.onNote('the cluster does not answer; trying again');
        await this.#sleep(pauseMs, signal);
      }
    }
  }

  #followOn(followed: Followed, signal: AbortSignal): Promise<Outcome> {
    const headers = followed.lastEventId === null ? {} : { 'last-event-id': followed.lastEventId };
    return this.#follow(followed, { path: `/v1/runs/${followed.runId}/events`, headers, signal });
  }

  async #follow(followed: Followed, call: StreamOf): Promise<Outcome> {
    const { url, key, write } = this.#options;
    const { signal } = call;
    let outcome: Outcome | undefined;
    for await (const { id, event } of streamRun({ url, key, ...call })) {
      followed.lastEventId = id ?? followed.lastEventId;
      if (event.type === 'event.accepted') followed.runId = AcceptedSchema.parse(event.data).runId;
      write(followed.reply.next(event));
      this.#tellFiles(event, followed.told);
      if (event.type === 'input.required' && this.#ask(followed, await this.#runOf(followed, signal))) return null;
      if (event.type === 'run.settled') {
        const { status, error } = SettledSchema.parse(event.data);
        outcome = outcomeOf(status, error?.code);
      }
    }
    // the end of a run is told before what its turn said, and both before the stream ends
    return outcome === undefined ? this.#wait(followed, signal) : outcome;
  }

  #tellFiles(event: StreamEvent, told: Set<string>): void {
    for (const file of filesOf(event)) {
      if (!told.has(file.ref)) this.#options.onFile(file);
      told.add(file.ref);
    }
  }

  /** Whether the run waits for an answer; then its question is told, and the next that is said is the answer. */
  #ask(followed: Followed, { inputId, input }: Run): boolean {
    if (inputId === undefined || input === undefined) return false;
    this.#waiting = { followed, inputId };
    this.#options.onQuestion(input);
    return true;
  }

  /** The server ended the stream early, because it drains or the stream grew old: the run goes on. */
  async #wait(followed: Followed, signal: AbortSignal): Promise<Outcome> {
    for (let early = 0; ; ) {
      const askedMs = performance.now();
      const run = await this.#runOf(followed, signal, WAIT_SECONDS);
      if (run.reply) this.#options.write(followed.reply.whole(run.reply.text));
      if (this.#ask(followed, run)) return null;
      if (!OPEN.has(run.status)) return outcomeOf(run.status, run.error?.code);
      early = performance.now() - askedMs < EARLY_MS ? early + 1 : 0;
      const pauseMs = Math.min(EARLY_PAUSE_MS * 2 ** (early - 1), BACKOFF_MS_MAX) * (1 + Math.random() / 2);
      if (early > 0) await this.#sleep(pauseMs, signal);
    }
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { sleep = (waitMs) => setTimeout(waitMs, undefined, { signal }) } = this.#options;
    await sleep(ms, signal);
  }

  async #runOf({ runId }: Followed, signal: AbortSignal, waitSeconds = 0): Promise<Run> {
    const { url, key } = this.#options;
    return RunSchema.loose().parse(await callApi({ url, key, path: `/v1/runs/${runId}?wait=${waitSeconds}`, signal }));
  }
}

interface StreamOf {
  readonly path: string;
  readonly body?: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

const FilesSchema = z.looseObject({ role: z.literal('assistant'), parts: z.array(z.unknown()) });
const FileSchema = z.looseObject({ type: z.literal('attachment'), ref: z.string(), name: z.string() });

/** The files of a reply. */
function filesOf({ type, data }: StreamEvent): readonly z.infer<typeof FileSchema>[] {
  const message = type === 'message.created' ? FilesSchema.safeParse(data).data : undefined;
  return (message?.parts ?? []).flatMap((part) => FileSchema.safeParse(part).data ?? []);
}

const OPEN: ReadonlySet<string> = new Set(['queued', 'running', 'waiting']);
