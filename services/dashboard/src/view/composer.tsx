import {
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import type { Upload } from '../chat/outbox.ts';
import type { PickedFiles } from '../chat/picked-files.ts';
import { Icon } from './icons.tsx';
import { PickedList } from './picked-list.tsx';

/** A frame has at most 64 kB; this leaves room for the rest of it. */
const TEXT_BYTES_MAX = 48 * 1024;

export interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly files: PickedFiles;
  /** A turn runs or waits: it can be stopped. */
  readonly isBusy: boolean;
  /** The question that what is written answers; null: it is a message. */
  readonly asked: string | null;
  readonly onSend: (text: string, uploads: readonly Upload[]) => void;
  readonly onStop: () => void;
}

/** Where one writes. Enter sends, Shift and Enter makes a new line. It takes messages without a connection, too. */
export function Composer({ field, files, isBusy, asked, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('');
  const { picked, news, alert } = useSyncExternalStore(files.subscribe, files.state);
  const isLong = new TextEncoder().encode(text).length > TEXT_BYTES_MAX;
  const isSending = picked.some(({ state }) => state === 'sending');
  const isAny = text.trim() !== '' || picked.some(({ state }) => state === 'sent');
  const canSend = isAny && !isLong && !isSending;
  const send = () => {
    if (!canSend) return;
    onSend(text.trim(), files.take());
    setText('');
    field.current?.focus();
  };
  useField(field, text);
  return (
    <form
      className="composer"
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <PickedList picked={picked} files={files} />
      <p className="only-read" role="status">
        {news}
      </p>
      {(isLong || alert !== null) && (
        <p className="alert" role="alert">
          {isLong ? 'This message is too long. Send it in parts, or as a file.' : alert}
        </p>
      )}
      <div className="row">
        <AttachButton onPick={(list) => files.add(list)} />
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label={asked === null ? 'Message' : `Answer: ${asked}`}
          placeholder={asked === null ? 'Write a message' : 'Write your answer'}
          enterKeyHint="send"
          onChange={(event) => setText(event.target.value)}
          onPaste={(event: ClipboardEvent) => {
            const { files: pasted } = event.clipboardData;
            if (pasted.length === 0) return;
            event.preventDefault();
            files.add(Array.from(pasted));
          }}
          onKeyDown={(event: KeyboardEvent) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {isBusy && (
          <button
            type="button"
            className="icon"
            aria-label="Stop the assistant"
            title={asked === null ? 'Stop' : 'Withdraw the question'}
            onClick={onStop}
          >
            <Icon name="stop" />
          </button>
        )}
        <button
          type="submit"
          className="icon send"
          aria-label="Send"
          title={isSending ? 'The files are still being sent' : 'Send'}
          disabled={!canSend}
        >
          <Icon name="up" />
        </button>
      </div>
    </form>
  );
}

/** The field is as high as its text, and has the focus where that covers nothing. */
function useField(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    // on a phone the keyboard would cover what one came to read
    if (window.matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, [field]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is what makes it higher
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight}px`;
  }, [text, field]);
}

function AttachButton({ onPick }: { readonly onPick: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          onPick(Array.from(event.target.files ?? []));
          event.target.value = '';
        }}
      />
      <button
        type="button"
        className="icon"
        aria-label="Attach files"
        title="Attach files"
        onClick={() => input.current?.click()}
      >
        <Icon name="plus" />
      </button>
    </>
  );
}
