import type { Entry } from '../chat/conversation.ts';
import type { Files } from '../chat/files.ts';
import type { Outgoing } from '../chat/outbox.ts';
import { sizeWords } from '../chat/size-words.ts';
import { AttachmentView } from './attachment-view.tsx';
import { FileCard } from './file-card.tsx';
import { SafeMarkdown } from './safe-markdown.tsx';

const SPEAKERS = { you: 'You', other: 'Guest', assistant: 'Assistant', person: 'Team', notice: 'Note' } as const;

/** Something that was said. What a visitor wrote is shown as it was written. */
export function MessageBubble({ entry, files }: { readonly entry: Entry; readonly files: Files }) {
  const { from, name, text, attachments, at } = entry;
  return (
    <li className="message" data-from={from}>
      <span className="speaker">{name ?? SPEAKERS[from]}</span>
      <div className="bubble">
        {text !== '' &&
          (from === 'you' || from === 'other' || from === 'notice' ? (
            <p className="plain">{text}</p>
          ) : (
            <SafeMarkdown text={text} />
          ))}
        {attachments.map((attachment) => (
          <AttachmentView key={attachment.ref} attachment={attachment} files={files} />
        ))}
      </div>
      <Time at={at} />
    </li>
  );
}

/** What the assistant is writing: read aloud when it is whole, not word by word. */
export function LiveBubble({ text }: { readonly text: string }) {
  return (
    <div className="message" data-from="assistant" aria-live="off" data-live="">
      <span className="speaker">{SPEAKERS.assistant}</span>
      <div className="bubble">
        {text === '' ? (
          <span className="typing">
            <i />
            <i />
            <i />
          </span>
        ) : (
          <SafeMarkdown text={text} />
        )}
      </div>
    </div>
  );
}

/** A message that is on its way, or was refused. */
export function OutgoingBubble({
  message,
  isOnline,
  isAsked,
  onRetry,
  onDiscard,
}: {
  readonly message: Outgoing;
  /** A question stands before it. */
  readonly isAsked: boolean;
  readonly isOnline: boolean;
  readonly onRetry: () => void;
  readonly onDiscard: () => void;
}) {
  const { text, uploads, isAccepted, fault } = message;
  return (
    <li className="message" data-from="you" data-outgoing={fault === undefined ? 'waiting' : 'failed'}>
      <span className="speaker">{SPEAKERS.you}</span>
      <div className="bubble">
        {text !== '' && <p className="plain">{text}</p>}
        {uploads.map(({ id, name, size }) => (
          <FileCard key={id} name={name} about={sizeWords(size)} />
        ))}
      </div>
      {fault === undefined ? (
        <small className="note">
          {isAccepted
            ? isAsked
              ? 'Waits for the answer to the question'
              : 'Waiting for its turn'
            : isOnline
              ? 'Sending…'
              : 'Will be sent when connected'}
        </small>
      ) : (
        <small className="note fault" role="alert">
          {fault}{' '}
          <button type="button" onClick={onRetry}>
            Send again
          </button>{' '}
          <button type="button" onClick={onDiscard}>
            Remove
          </button>
        </small>
      )}
    </li>
  );
}

function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
  return (
    <time className="note" dateTime={at}>
      {isToday ? time : `${date.toLocaleDateString()} ${time}`}
    </time>
  );
}
