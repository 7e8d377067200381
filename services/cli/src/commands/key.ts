import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { AppError, cleanJson, completeKeyPolicy, computeKey, slotOf } from '@turnkeeper/core';
import { bodyFaults, inWords, KeyPolicySchema, NameSchema, SourceSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { z } from 'zod';
import { EXIT } from '../exit.ts';

const KeyLineSchema = z.strictObject({
  source: SourceSchema,
  keyPolicy: KeyPolicySchema.default('standard'),
  tenant: NameSchema.default('demo'),
  agent: NameSchema.default('main'),
  partitions: z.int().min(1).max(4096).default(16),
});

const HELP = `
Each line is answered by {key, slot, partition}, a bad one by {error: {code, line}} and its reason on standard error.
  source      {platform, chatType: dm|group|channel|…, chatId, userId?, threadId?, …}: where a message came from
  keyPolicy   standard (as if left out), openclaw, echo, or {name, …} as in a tenant's file

  echo '{"source":{"platform":"telegram","chatType":"dm","chatId":"42"}}' | turnkeeper key`;

type KeyAnswer =
  | { readonly key: string; readonly slot: number; readonly partition: number }
  /** `line` counts from 1. */
  | { readonly error: { readonly code: AppError['code']; readonly line: number } };

/** `turnkeeper key`: which session key, slot and partition messages of a source have. Needs no cluster. */
export function registerKey(program: Command): void {
  program
    .command('key')
    .description(
      'compute session keys: JSON lines {source, keyPolicy?, tenant?, agent?, partitions?} from standard input',
    )
    .addHelpText('after', HELP)
    .action(async () => {
      const complain = (line: number, why: string) => process.stderr.write(`line ${line}: ${why}\n`);
      const badLines = await computeKeys(process.stdin, process.stdout, complain);
      if (badLines > 0) process.exitCode = EXIT.failed;
    });
}

/** Answers each line by one line, a bad one by its error; `complain` gets its reason in words. Resolves with the number of bad ones. */
export async function computeKeys(
  input: Readable,
  output: Writable,
  complain: (line: number, why: string) => void = () => undefined,
): Promise<number> {
  let line = 0;
  let badLines = 0;
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const { answer, why } = answerLine(text, ++line);
    if (why !== undefined) complain(line, why);
    if ('error' in answer) badLines++;
    if (!output.write(`${JSON.stringify(answer)}\n`)) await new Promise((resolve) => output.once('drain', resolve));
  }
  return badLines;
}

function answerLine(text: string, line: number): { readonly answer: KeyAnswer; readonly why?: string } {
  const bad = (code: AppError['code'], why: string) => ({ answer: { error: { code, line } }, why });
  try {
    const json = cleanJson(JSON.parse(text), { nul: 0, loneSurrogate: 0 });
    const parsed = KeyLineSchema.safeParse(json, { error: inWords });
    if (!parsed.success) {
      const faults = bodyFaults(parsed.error, json);
      const told = faults.map(({ pointer, why }) => `${pointer || 'the line'}: ${why}`);
      return bad(faults[0]?.code ?? 'invalid_field', told.join('; '));
    }
    const { source, keyPolicy, tenant, agent, partitions } = parsed.data;
    const { key } = computeKey({ source, policy: completeKeyPolicy(keyPolicy), agentName: agent });
    const slot = slotOf(tenant, agent, key);
    return { answer: { key, slot, partition: slot % partitions } };
  } catch (error) {
    if (error instanceof SyntaxError) return bad('invalid_json', 'is no JSON');
    if (error instanceof AppError) return bad(error.code, error.message);
    throw error;
  }
}
