import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { CliError } from '../exit.ts';

/** A file as a message names it. */
export interface AttachedFile {
  readonly ref: string;
}

const UploadSchema = z.looseObject({ attachmentId: z.string() });
const UPLOAD_MS_MAX = 300_000;

/**
 * Uploads files, one after the other.
 * @throws CliError `usage` for one that cannot be read, `unreachable`; AppError when the server refuses one
 */
export async function attachFiles(
  paths: readonly string[],
  { url, key }: { readonly url: string; readonly key: string },
): Promise<readonly AttachedFile[]> {
  const attached: AttachedFile[] = [];
  for (const path of paths) {
    const file = await readFile(path).catch((cause: unknown) => {
      throw new CliError('usage', `The file ${path} cannot be read.`, cause);
    });
    const answer = await callApi({
      ...{ url, key, method: 'POST', file, timeoutMs: UPLOAD_MS_MAX },
      path: `/v1/uploads?name=${encodeURIComponent(basename(path))}`,
      headers: { 'content-type': 'application/octet-stream', 'idempotency-key': randomUUID() },
    });
    attached.push({ ref: UploadSchema.parse(answer).attachmentId });
  }
  return attached;
}
