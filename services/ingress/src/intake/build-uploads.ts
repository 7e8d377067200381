import { createHash } from 'node:crypto';
import { type AttachmentBytes, type AttachmentRecords, type Digest, ReceiveUpload } from '@turnkeeper/core';
import type { Kit } from '@turnkeeper/platform/process';
import { fileTypeFromBuffer } from 'file-type';
import type { IngressConfig } from '../config.ts';

/** The door for files, over what the node may hold of them. */
export function buildUploads(
  { ids, logger }: Pick<Kit, 'ids' | 'logger'>,
  config: Pick<IngressConfig, 'fileBytesMax' | 'tenantFileBytesMax' | 'uploadsMax'>,
  attachments: AttachmentRecords & AttachmentBytes,
): ReceiveUpload {
  return new ReceiveUpload({
    ...{ ids, logger, records: attachments, bytes: attachments, sha256, sniff },
    fileBytesMax: config.fileBytesMax,
    tenantBytesMax: config.tenantFileBytesMax,
    uploadsMax: config.uploadsMax,
  });
}

function sha256(): Digest {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), end: () => hash.digest() };
}

async function sniff(head: Uint8Array): Promise<string | null> {
  return (await fileTypeFromBuffer(head))?.mime ?? null;
}
