import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { AppError, cleanJson, completeKeyPolicy, computeKey, slotOf } from '@turnkeeper/core';
import { bodyFaults, KeyPolicySchema, NameSchema, SourceSchema } from '@turnkeeper/protocol';
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
    .action(async () => {
      const badLines = await computeKeys(process.stdin, process.stdout);
      if (badLines > 0) process.exitCode = EXIT.failed;
    });
}

/** Answers each line by one line, a bad one by its error; resolves with the number of bad ones. */
export async function computeKeys(input: Readable, output: Writable): Promise<number> {
  let line = 0;
  let badLines = 0;
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const answer = answerLine(text, ++line);
    if ('error' in answer) badLines++;
    if (!output.write(`${JSON.stringify(answer)}\n`)) await new Promise((resolve) => output.once('drain', resolve));
  }
  return badLines;
}

function answerLine(text: string, line: number): KeyAnswer {
  try {
    const json = cleanJson(JSON.parse(text), { nul: 0, loneSurrogate: 0 });
    const parsed = KeyLineSchema.safeParse(json);
    if (!parsed.success) return { error: { code: bodyFaults(parsed.error, json)[0]?.code ?? 'invalid_field', line } };
    const { source, keyPolicy, tenant, agent, partitions } = parsed.data;
    const { key } = computeKey({ source, policy: completeKeyPolicy(keyPolicy), agentName: agent });
    const slot = slotOf(tenant, agent, key);
    return { key, slot, partition: slot % partitions };
  } catch (error) {
    if (error instanceof SyntaxError) return { error: { code: 'invalid_json', line } };
    if (error instanceof AppError) return { error: { code: error.code, line } };
    throw error;
  }
}
