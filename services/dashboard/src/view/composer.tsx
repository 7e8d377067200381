import {
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { Files } from '../chat/files.ts';
import type { Upload } from '../chat/outbox.ts';

/** A frame has at most 64 kB; this leaves room for the rest of it. */
const TEXT_BYTES_MAX = 48 * 1024;
const FILES_MAX = 10;

interface Picked {
  readonly key: number;
  readonly name: string;
  readonly upload: Upload | null;
  readonly fault: string | null;
}

export interface ComposerProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly files: Files;
  /** A turn runs or waits: it can be stopped. */
  readonly isBusy: boolean;
  readonly onSend: (text: string, uploads: readonly Upload[]) => void;
  readonly onStop: () => void;
}

/** Where one writes. Enter sends, Shift and Enter makes a new line. It takes messages without a connection, too. */
export function Composer({ field, files, isBusy, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('');
  const { picked, pick, drop, clear } = usePicked(files);
  const isLong = new TextEncoder().encode(text).length > TEXT_BYTES_MAX;
  const isUploading = picked.some(({ upload, fault }) => upload === null && fault === null);
  const uploads = picked.flatMap(({ upload }) => upload ?? []);
  const canSend = (text.trim() !== '' || uploads.length > 0) && !isLong && !isUploading;
  const send = () => {
    if (!canSend) return;
    onSend(text.trim(), uploads);
    setText('');
    clear();
    field.current?.focus();
  };
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
  return (
    <form
      className="composer"
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <PickedList picked={picked} onDrop={drop} />
      {isLong && (
        <p className="alert" role="alert">
          This message is too long. Send it in parts, or as a file.
        </p>
      )}
      <div className="row">
        <AttachButton onPick={pick} />
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label="Message"
          placeholder="Write a message"
          enterKeyHint="send"
          onChange={(event) => setText(event.target.value)}
          onPaste={(event: ClipboardEvent) => pick(event.clipboardData.files)}
          onKeyDown={(event: KeyboardEvent) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {isBusy && (
          <button type="button" className="icon" aria-label="Stop the assistant" title="Stop" onClick={onStop}>
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <rect x="6" y="6" width="12" height="12" rx="2" fill="currentColor" />
            </svg>
          </button>
        )}
        <button type="submit" className="icon send" aria-label="Send" title="Send" disabled={!canSend}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path
              d="M12 19V5m0 0-6 6m6-6 6 6"
              fill="none"
              stroke="currentColor"
              strokeWidth="2.2"
              strokeLinecap="round"
              strokeLinejoin="round"
            />
          </svg>
        </button>
      </div>
    </form>
  );
}

function AttachButton({ onPick }: { readonly onPick: (files: FileList | null) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          onPick(event.target.files);
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
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M12 5v14M5 12h14" fill="none" stroke="currentColor" strokeWidth="2.2" strokeLinecap="round" />
        </svg>
      </button>
    </>
  );
}

function PickedList({
  picked,
  onDrop,
}: {
  readonly picked: readonly Picked[];
  readonly onDrop: (key: number) => void;
}) {
  if (picked.length === 0) return null;
  return (
    <ul className="picked" aria-label="Files of this message">
      {picked.map(({ key, name, upload, fault }) => (
        <li key={key} data-fault={fault === null ? undefined : ''}>
          <span>
            {name}
            {fault !== null ? `: ${fault}` : upload === null ? ' …' : ''}
          </span>
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onDrop(key)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Files are uploaded as soon as they are picked. */
function usePicked(files: Files) {
  const [picked, setPicked] = useState<readonly Picked[]>([]);
  const next = useRef(0);
  const settle = (key: number, part: Partial<Picked>) =>
    setPicked((all) => all.map((one) => (one.key === key ? { ...one, ...part } : one)));
  const pick = (list: FileList | null) => {
    for (const file of Array.from(list ?? []).slice(0, FILES_MAX - picked.length)) {
      const key = next.current++;
      setPicked((all) => [...all, { key, name: file.name, upload: null, fault: null }]);
      files.upload(file).then(
        (upload) => settle(key, { upload }),
        (error: unknown) => settle(key, { fault: error instanceof Error ? error.message : 'cannot be sent' }),
      );
    }
  };
  const drop = (key: number) => setPicked((all) => all.filter((one) => one.key !== key));
  return { picked, pick, drop, clear: () => setPicked([]) };
}
