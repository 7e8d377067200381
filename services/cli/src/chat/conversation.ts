import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunErrorCode } from '@turnkeeper/core';
import { RUN_ERRORS, RunSchema, type StreamEvent } from '@turnkeeper/protocol';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { EXIT, exitCodeOf } from '../exit.ts';
import type { AttachedFile } from './attach-files.ts';
import { ReplyText } from './reply-text.ts';
import { streamRun } from './run-stream.ts';

export interface ConversationOptions {
  readonly url: string;
  readonly key: string;
  readonly agent: string;
  readonly sessionKey: string;
  /** Gets the reply, piece by piece. */
  readonly write: (text: string) => void;
  /** Told when the cluster does not answer and the message is tried again. */
  readonly onRetry: () => void;
  /** Told of each file that a reply brings. */
  readonly onFile: (file: { readonly name: string; readonly ref: string }) => void;
}

/** Null: answered. Else a sentence that says why not. */
export type Outcome = string | null;

/** A cluster that is stopped and started again on the same machine is back within this, however slow the machine. */
const PATIENCE_MS = 180_000;
const BACKOFF_MS = 300;
const BACKOFF_MS_MAX = 2_000;
const WAIT_SECONDS = 50;

const SettledSchema = z.looseObject({
  status: z.string(),
  error: z.looseObject({ code: z.string() }).optional(),
});
const AcceptedSchema = z.looseObject({ runId: z.string() });

/** One conversation with an agent: each message is sent once, however often it takes to be sure, and its reply followed. */
export class Conversation {
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /**
   * Sends a message and writes the reply as it comes. A stream that breaks is taken up by reading the run.
   * @throws CliError `unreachable`; AppError with the server's code when it refuses the message
   */
  async say(text: string, signal: AbortSignal, attachments: readonly AttachedFile[] = []): Promise<Outcome> {
    const idempotencyKey = randomUUID();
    const reply = new ReplyText();
    const told = new Set<string>();
    const untilMs = performance.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#follow({ text, attachments, idempotencyKey, reply, told, signal });
      } catch (error) {
        const pauseMs = Math.min(BACKOFF_MS * 2 ** tries, BACKOFF_MS_MAX) * (0.5 + Math.random() / 2);
        const isPatient = performance.now() + pauseMs < untilMs;
        if (signal.aborted || exitCodeOf(error) !== EXIT.unreachable || !isPatient) throw error;
        if (tries === 1) this.#options.onRetry();
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  async #follow(message: {
    readonly text: string;
    readonly attachments: readonly AttachedFile[];
    readonly idempotencyKey: string;
    readonly reply: ReplyText;
    /** Files of the reply that were named. */
    readonly told: Set<string>;
    readonly signal: AbortSignal;
  }): Promise<Outcome> {
    const { url, key, agent, sessionKey, write } = this.#options;
    const { text, attachments, idempotencyKey, reply, told, signal } = message;
    const body = { agentId: agent, sessionKey, text, ...(attachments.length > 0 && { attachments }) };
    let runId = '';
    let outcome: Outcome | undefined;
    for await (const event of streamRun({ url, key, body, idempotencyKey, signal })) {
      if (event.type === 'event.accepted') runId = AcceptedSchema.parse(event.data).runId;
      write(reply.next(event));
      for (const file of filesOf(event)) {
        if (!told.has(file.ref)) this.#options.onFile(file);
        told.add(file.ref);
      }
      if (event.type === 'run.settled') {
        const { status, error } = SettledSchema.parse(event.data);
        outcome = sentenceFor(status, error?.code);
      }
    }
    // the end of a run is told before what its turn said, and both before the stream ends
    if (outcome !== undefined) return outcome;
    return this.#wait(runId, reply, signal);
  }

  /** The server ended the stream early, because it drains or the stream grew old: the run goes on. */
  async #wait(runId: string, reply: ReplyText, signal: AbortSignal): Promise<Outcome> {
    const { url, key, write } = this.#options;
    for (;;) {
      const run = RunSchema.loose().parse(
        await callApi({ url, key, path: `/v1/runs/${runId}?wait=${WAIT_SECONDS}`, signal }),
      );
      if (run.reply) write(reply.whole(run.reply.text));
      if (!OPEN.has(run.status)) return sentenceFor(run.status, run.error?.code);
    }
  }
}

const FilesSchema = z.looseObject({ role: z.literal('assistant'), parts: z.array(z.unknown()) });
const FileSchema = z.looseObject({ type: z.literal('attachment'), ref: z.string(), name: z.string() });

/** The files of a reply. */
function filesOf({ type, data }: StreamEvent): readonly z.infer<typeof FileSchema>[] {
  const message = type === 'message.created' ? FilesSchema.safeParse(data).data : undefined;
  return (message?.parts ?? []).flatMap((part) => FileSchema.safeParse(part).data ?? []);
}

const OPEN: ReadonlySet<string> = new Set(['queued', 'running', 'waiting']);

function sentenceFor(status: string, code: string | undefined): Outcome {
  switch (status) {
    case 'ok':
      return null;
    case 'no_reply':
      return 'The agent had nothing to say.';
    case 'error':
    case 'timeout':
    case 'refused':
    case 'parked':
      return `${meaningOf(code)} (${code ?? status})`;
    default:
      return `The message was ${status}.`;
  }
}

function meaningOf(code: string | undefined): string {
  return (code !== undefined && isRunError(code) && RUN_ERRORS[code]) || 'The agent could not answer.';
}

function isRunError(code: string): code is RunErrorCode {
  return Object.hasOwn(RUN_ERRORS, code);
}
