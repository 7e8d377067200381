import { randomBytes } from 'node:crypto';
import { createInterface, type Interface } from 'node:readline';
import { AppError } from '@turnkeeper/core';
import { type Run, RunSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { type AttachedFile, attachFiles } from '../chat/attach-files.ts';
import { type Asked, Conversation } from '../chat/conversation.ts';
import type { Outcome } from '../chat/outcome.ts';
import { EXIT, exitCodeOf, sentenceOf } from '../exit.ts';
import { dim, paint } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';

interface ChatFlags extends TargetFlags {
  readonly agent: string;
  readonly session?: string;
  readonly attach?: readonly string[];
}

/** `turnkeeper chat` */
export function registerChat(program: Command): void {
  const command = program
    .command('chat')
    .description('talk to an agent; from a pipe, each line is a message')
    .option('--agent <agent>', 'whom to talk to', 'main')
    .option('--session <key>', 'go on with this conversation; without it a new one begins')
    .option('--attach <file>', 'a file that goes with the first message; may be given again', collect);
  addTargetFlags(command, 'tenant').action(async (flags: ChatFlags) => {
    const door = (await resolveTarget(flags)).tenant();
    const sessionKey = flags.session ?? `chat-${randomBytes(4).toString('hex')}`;
    // whom nobody can talk to is told before anything is said
    const query = new URLSearchParams({ limit: '1', agentId: flags.agent, sessionKey, status: 'waiting' });
    const { data } = WaitingSchema.parse(await callApi({ ...door, path: `/v1/runs?${query}` }));
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    const attached = await attachFiles(flags.attach ?? [], door);
    await talk({ ...door, agent: flags.agent, sessionKey, isTerminal, attached, waiting: data[0] });
  });
}

const WaitingSchema = z.looseObject({ data: z.array(RunSchema.loose()) });

interface Talk {
  readonly url: string;
  readonly key: string;
  readonly agent: string;
  readonly sessionKey: string;
  readonly isTerminal: boolean;
  readonly attached: readonly AttachedFile[];
  /** Of the conversation, when its agent asked something and nobody has answered yet. */
  readonly waiting: Run | undefined;
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** Line by line: a message, its reply, the next. Ctrl-C and Ctrl-D leave at any time. */
async function talk({ isTerminal, attached, waiting, ...to }: Talk): Promise<void> {
  const leaving = new AbortController();
  const screen = new Screen(isTerminal, to.agent);
  const conversation = new Conversation({
    ...to,
    write: (text) => screen.write(text),
    onQuestion: (question) => screen.ask(question),
    onNote: (sentence) => screen.note(sentence),
    onFile: ({ name, ref }) => screen.file(name, ref),
  });
  const lines = isTerminal ? openTerminal(leaving) : createInterface({ input: process.stdin });
  screen.welcome(to.sessionKey);
  if (waiting !== undefined) conversation.takeUp(waiting);
  let files = attached;
  try {
    if (isTerminal) lines.prompt();
    for await (const line of lines) {
      if (line.trim() !== '') {
        const isAnswer = conversation.waitingRunId !== null;
        screen.endReply(await say(conversation, { line, files }, leaving.signal));
        // files go with a message; an answer has none
        if (!isAnswer) files = [];
      }
      if (leaving.signal.aborted) break;
      if (isTerminal) lines.prompt();
    }
  } finally {
    lines.close();
  }
  const { waitingRunId } = conversation;
  if (waitingRunId !== null)
    screen.endReply(`The agent waits for an answer: turnkeeper runs answer ${waitingRunId} <text>`);
}

function openTerminal(leaving: AbortController): Interface {
  const { stdin: input, stdout: output } = process;
  const lines = createInterface({ input, output, prompt: `${paint('cyan', 'you')} › ` });
  const leave = () => {
    if (leaving.signal.aborted) return;
    leaving.abort();
    lines.close();
    process.stdout.write('\n');
  };
  return lines.on('SIGINT', leave).on('close', leave);
}

/** A message that the server refuses is told and the talk goes on; what no next message can mend ends it. */
async function say(
  conversation: Conversation,
  { line, files }: { readonly line: string; readonly files: readonly AttachedFile[] },
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    return await conversation.say(line, signal, files);
  } catch (error) {
    if (signal.aborted) return null;
    const isHopeless =
      exitCodeOf(error) === EXIT.denied || (error instanceof AppError && error.code === 'agent_not_found');
    if (isHopeless) throw error;
    return sentenceOf(error);
  }
}

/** What a person sees: replies on standard output, everything about them on standard error when that is a pipe. */
class Screen {
  readonly #isTerminal: boolean;
  readonly #name: string;
  #hasText = false;

  constructor(isTerminal: boolean, name: string) {
    this.#isTerminal = isTerminal;
    this.#name = name;
  }

  welcome(sessionKey: string): void {
    if (!this.#isTerminal) return;
    process.stdout.write(`${dim(`You talk to ${this.#name} in conversation ${sessionKey}. Ctrl-D leaves.`)}\n\n`);
  }

  write(text: string): void {
    if (text === '') return;
    if (!this.#hasText && this.#isTerminal) process.stdout.write(`${paint('green', this.#name)} › `);
    this.#hasText = true;
    process.stdout.write(text);
  }

  /** What the agent asks, behind what it has said. */
  ask({ prompt, options = [] }: Asked): void {
    this.write(`${this.#hasText ? '\n' : ''}${prompt}`);
    for (const option of options) this.write(`\n  – ${option}`);
    this.endReply(null);
    if (this.#isTerminal) this.note('What you write now is the answer.');
  }

  /** Behind the text, each on a line of its own. */
  file(name: string, ref: string): void {
    this.write(`${this.#hasText ? '\n' : ''}[file ${name}: ${ref}]`);
  }

  endReply(outcome: Outcome): void {
    if (this.#hasText) process.stdout.write('\n');
    this.#hasText = false;
    if (outcome === null) return;
    this.note(outcome);
    if (!this.#isTerminal) process.exitCode = EXIT.failed;
  }

  note(sentence: string): void {
    const out = this.#isTerminal ? process.stdout : process.stderr;
    out.write(this.#isTerminal ? `${paint('yellow', sentence)}\n` : `${sentence}\n`);
  }
}
