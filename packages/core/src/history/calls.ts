export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

export interface CallBlock {
  readonly type: 'toolCall';
  readonly id: string;
  readonly name: string | null;
  /** Null when the model sent none, or sent what is no object. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
}

export type AssistantBlock = TextBlock | CallBlock;

const REDACTED = '[redacted]';

/**
 * The blocks of an assistant message that may go back to a model: calls without a name or arguments are dropped, and
 * contents of attachments are left out of those kept. When no block is left the message is dropped too.
 */
export function sanitizeCalls(blocks: readonly AssistantBlock[]): {
  blocks: readonly AssistantBlock[];
  attachmentsRedacted: number;
} {
  let attachmentsRedacted = 0;
  const kept = blocks.flatMap((block): AssistantBlock[] => {
    if (block.type === 'text') return [block];
    if (block.arguments === null || (block.name ?? '').trim() === '') return [];
    const { attachments } = block.arguments;
    if (!Array.isArray(attachments) || attachments.length === 0) return [block];
    attachmentsRedacted += attachments.length;
    return [{ ...block, arguments: { ...block.arguments, attachments: attachments.map(withoutContent) } }];
  });
  return { blocks: kept, attachmentsRedacted };
}

function withoutContent(attachment: unknown): unknown {
  const named = typeof attachment === 'object' && attachment !== null ? attachment : {};
  return { ...named, content: REDACTED };
}
