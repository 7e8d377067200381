import {
  type AttachmentBytes,
  type AttachmentId,
  type AttachmentRecord,
  type AttachmentRecords,
  type Clock,
  parseId,
  type TenantId,
} from '@turnkeeper/core';
import type { FilePart, TextPart } from 'ai';
import { z } from 'zod';
import type { ByteBudget } from './byte-budget.ts';

export interface ModelFilesOptions {
  readonly attachments: Pick<AttachmentRecords & AttachmentBytes, 'find' | 'read'>;
  /** What the turns of this worker hold of files at once. */
  readonly budget: ByteBudget;
  readonly clock: Clock;
}

export interface FilesWanted {
  readonly tenantId: TenantId;
  /** Bodies of messages, oldest first: the newest files count first. */
  readonly bodies: readonly unknown[];
  readonly takesImages: boolean;
  readonly signal: AbortSignal;
  /** Called now and then while files have to wait. */
  readonly alive: () => void;
}

/** Of one request, so that it fits: newer ones first, others are named only. */
const IMAGES_MAX = 10;
const IMAGE_BYTES_MAX = 5 * 1024 * 1024;
const IMAGE_BYTES_TOTAL = 12 * 1024 * 1024;
const TEXT_BYTES_MAX = 64 * 1024;
const TEXT_BYTES_TOTAL = 256 * 1024;

/** A turn waits no longer for room: it is answered without its files rather than not at all. */
const ROOM_MS_MAX = 10_000;
/** Below the shortest time in which a turn may be told to show life. */
const ALIVE_MS = 500;

/** What models take as pictures. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const TEXTS = new Set([
  'application/json',
  'application/xml',
  'application/yaml',
  'application/x-yaml',
  'image/svg+xml',
]);

const named = z.object({
  ref: z.string(),
  name: z.string().optional(),
  mime: z.string().optional(),
  kind: z.string().optional(),
});
type Named = z.infer<typeof named>;
const body = z.object({ attachments: z.array(z.unknown()) });

type Part = TextPart | FilePart;

/** The files of the messages that a model is given, as parts of them. */
export interface ModelFiles {
  partsOf(messageBody: unknown): readonly Part[];
  /** They are not needed any more. */
  release(): void;
}

/**
 * Reads what the model can take: pictures as pictures, when it is said to take them, and texts as text, cut where they are
 * long. Of everything else, of what is too large, too old or gone, and where other turns leave no room, a line says that
 * there was a file: a turn never fails for a file, and never keeps quiet about one.
 * @throws StoreError; the signal's reason
 */
export async function readModelFiles(wanted: FilesWanted, options: ModelFilesOptions): Promise<ModelFiles> {
  const files = wanted.bodies.flatMap(namedBy).reverse();
  const ids = [...new Set(files.flatMap(({ ref }) => parseId<AttachmentId>(ref, 'att') ?? []))];
  if (ids.length === 0) return { partsOf: (given) => namedBy(given).map((file) => lineOf(file, null)), release: noop };
  const found = await options.attachments.find(wanted.tenantId, ids);
  const records = new Map(found.map((record) => [record.attachmentId, record]));
  const chosen = choose(
    ids.flatMap((id) => records.get(id) ?? []),
    wanted.takesImages,
  );
  const room = await roomFor(chosen, wanted, options);
  const release = room ?? noop;
  try {
    const parts = new Map<AttachmentId, Part>();
    for (const choice of room === null ? [] : chosen) {
      wanted.signal.throwIfAborted();
      const part = await read(choice, wanted.tenantId, options);
      if (part !== null) parts.set(choice.record.attachmentId, part);
    }
    return {
      release,
      partsOf: (given) =>
        namedBy(given).map((file) => {
          const id = parseId<AttachmentId>(file.ref, 'att');
          const part = id === null ? undefined : parts.get(id);
          return part ?? lineOf(file, id === null ? null : (records.get(id) ?? 'gone'));
        }),
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Null: there was none for too long. */
async function roomFor(
  chosen: readonly Choice[],
  { tenantId, signal, alive }: FilesWanted,
  { budget, clock }: ModelFilesOptions,
): Promise<(() => void) | null> {
  if (chosen.length === 0) return noop;
  const [tooLong, decided] = [new AbortController(), new AbortController()];
  const watch = async () => {
    for (let waitedMs = 0; waitedMs < ROOM_MS_MAX; waitedMs += ALIVE_MS) {
      await clock.sleep(ALIVE_MS, decided.signal);
      if (decided.signal.aborted) return;
      alive();
    }
    tooLong.abort();
  };
  const bytes = chosen.reduce((sum, choice) => sum + choice.bytes, 0);
  const [room] = await Promise.all([
    budget
      .take(tenantId, bytes, AbortSignal.any([signal, tooLong.signal]))
      .catch((error: unknown) => {
        if (signal.aborted || !tooLong.signal.aborted) throw error;
        return null;
      })
      .finally(() => decided.abort()),
    watch(),
  ]);
  return room;
}

interface Choice {
  readonly record: AttachmentRecord;
  readonly as: 'image' | 'text';
  /** To read of it. */
  readonly bytes: number;
}

function choose(records: readonly AttachmentRecord[], takesImages: boolean): Choice[] {
  const left = { images: IMAGES_MAX, imageBytes: IMAGE_BYTES_TOTAL, textBytes: TEXT_BYTES_TOTAL };
  return records.flatMap((record): Choice[] => {
    const { mime, size } = record;
    if (takesImages && IMAGES.has(mime)) {
      if (size > IMAGE_BYTES_MAX || size > left.imageBytes || left.images === 0) return [];
      left.images--;
      left.imageBytes -= size;
      return [{ record, as: 'image', bytes: size }];
    }
    const bytes = Math.min(size, TEXT_BYTES_MAX);
    if (!isText(mime) || bytes > left.textBytes) return [];
    left.textBytes -= bytes;
    return [{ record, as: 'text', bytes }];
  });
}

function isText(mime: string): boolean {
  return mime.startsWith('text/') || TEXTS.has(mime) || mime.endsWith('+json') || mime.endsWith('+xml');
}

/** Null: it was deleted meanwhile, or is no text after all. */
async function read(choice: Choice, tenantId: TenantId, { attachments }: ModelFilesOptions): Promise<Part | null> {
  const { record, as, bytes: wanted } = choice;
  const bytes = new Uint8Array(wanted);
  for (let index = 0, filled = 0; filled < wanted; index++) {
    const piece = await attachments.read(tenantId, record.attachmentId, index);
    if (piece === null) return null;
    const taken = piece.subarray(0, wanted - filled);
    bytes.set(taken, filled);
    filled += taken.length;
  }
  if (as === 'image') return { type: 'file', data: bytes, mediaType: record.mime, filename: record.name };
  const text = textOf(bytes);
  if (text === null) return null;
  const isCut = wanted < record.size;
  const about = `${aboutOf(record)}${isCut ? `, the first ${wanted} bytes of it` : ''}`;
  return { type: 'text', text: `[File ${about}]\n${text}\n[End of ${record.name}]` };
}

/** UTF-8 that may end in the middle of a character; null when it is none. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    // another encoding: the model is told of the file alone
    return null;
  }
}

function lineOf(file: Named, record: AttachmentRecord | 'gone' | null): TextPart {
  if (record === 'gone') return { type: 'text', text: `[File ${aboutOf(file)}: no longer there]` };
  return { type: 'text', text: `[File ${aboutOf(record ?? file)}: its content is not shown here]` };
}

function aboutOf({ name = 'without a name', mime, size }: About): string {
  return [name, mime, size === undefined ? undefined : `${size} bytes`].filter((part) => part !== undefined).join(', ');
}

interface About {
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
  readonly size?: number;
}

function namedBy(given: unknown): Named[] {
  const { attachments } = body.safeParse(given).data ?? { attachments: [] };
  return attachments.flatMap((one) => named.safeParse(one).data ?? []);
}

function noop(): void {
  // nothing is held
}
