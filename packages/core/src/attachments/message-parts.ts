/** A message in the parts that history and streams show: its text, when it has one, then its files. */
export function messageParts(text: string, attachments: readonly unknown[] = []): MessagePart[] {
  return [...(text === '' ? [] : [{ type: 'text', text } as const]), ...attachments.map(filePart)];
}

export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  /** `kind`, `ref`, `name`, `mime`, `size` of an attachment. */
  | { readonly type: 'attachment' };

/** Rows of other times may hold anything. */
function filePart(attachment: unknown): MessagePart {
  return { ...(typeof attachment === 'object' ? attachment : {}), type: 'attachment' };
}
