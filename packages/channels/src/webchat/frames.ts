import type { InboundDelivery } from '../channel.ts';

/** A frame `message` of a socket, as the wire's schema lets it through. */
export interface MessageFrame {
  readonly room: string;
  /** The client's own name for the message: the same however often it is sent. */
  readonly clientId: string;
  readonly text: string;
  readonly uploads?: readonly UploadReference[] | undefined;
}

/** A file that was uploaded before. */
export interface UploadReference {
  readonly id: string;
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
  readonly size?: number | undefined;
}

/** Who speaks: what the token says, never the frame. */
export interface Speaker {
  /** The tenant's name. */
  readonly tenant: string;
  readonly sub: string;
  readonly name: string | null;
}

/** A visitor's message as an event, and what it is known by wherever it comes again. Pure. */
export function parseMessageFrame(frame: MessageFrame, { tenant, sub, name }: Speaker): InboundDelivery {
  const { room, clientId, text, uploads = [] } = frame;
  return {
    dedupeKey: `webchat:${tenant}:${room}:${clientId}`,
    event: {
      platform: 'webchat',
      chatType: 'dm',
      chatId: room,
      threadId: null,
      userId: sub,
      userIdAlt: null,
      userName: name,
      messageId: clientId,
      text,
      attachments: uploads.map(attachmentOf),
      isCommand: commandIn(text) !== null,
      mentionsBot: false,
    },
  };
}

/** `/new topic` → new, topic; null for text that is no command. */
export function commandIn(text: string): { readonly command: string; readonly args: string } | null {
  const [, command, args = ''] = COMMAND.exec(text) ?? [];
  return command === undefined ? null : { command, args: args.trim() };
}

const COMMAND = /^\/([a-z][a-z0-9_-]{0,31})(?:\s+([\s\S]*))?$/i;

function attachmentOf({ id, name, mime, size }: UploadReference) {
  return {
    kind: kindOf(mime),
    ref: id,
    ...(name === undefined ? {} : { name }),
    ...(mime === undefined ? {} : { mime }),
    ...(size === undefined ? {} : { size }),
  };
}

function kindOf(mime = ''): 'image' | 'audio' | 'video' | 'file' {
  const [family] = mime.split('/');
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file';
}
