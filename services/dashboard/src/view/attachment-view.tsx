import { useEffect, useRef, useState } from 'react';
import type { Attachment } from '../chat/conversation.ts';
import { FileFault, type Files } from '../chat/files.ts';
import { sizeWords } from '../chat/size-words.ts';
import { FileCard } from './file-card.tsx';
import { Icon } from './icons.tsx';

/** Types that are shown as pictures: none that can carry a program, as SVG can. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
/** What a browser saves and never opens. */
const SAVED_TYPE = 'application/octet-stream';
/** Larger ones are loaded when somebody asks for them. */
const SHOWN_BYTES_MAX = 8 * 1024 * 1024;

interface AttachmentProps {
  readonly attachment: Attachment;
  readonly files: Pick<Files, 'read'>;
}

/** A file: a picture is shown, anything else is offered to be saved, and never opened. It is read with the visitor's token. */
export function AttachmentView({ attachment, files }: AttachmentProps) {
  const { mime = '', size = 0 } = attachment;
  const [isShown, setShown] = useState(PICTURES.has(mime) && size <= SHOWN_BYTES_MAX);
  return isShown ? (
    <PictureView attachment={attachment} files={files} onBroken={() => setShown(false)} />
  ) : (
    <SavedFile attachment={attachment} files={files} />
  );
}

function SavedFile({ attachment, files }: AttachmentProps) {
  const { name = 'File', size } = attachment;
  const [state, setState] = useState<'idle' | 'loading' | string>('idle');
  const onSave = () => {
    setState('loading');
    save(files, attachment).then(
      () => setState('idle'),
      (error: unknown) => setState(error instanceof FileFault ? error.message : 'could not be loaded'),
    );
  };
  const about = size === undefined ? '' : sizeWords(size);
  const isFault = state !== 'idle' && state !== 'loading';
  return (
    <FileCard name={name} about={isFault ? state : state === 'loading' ? 'Loading…' : about} isFault={isFault}>
      <button type="button" className="icon" aria-label={`Save ${name}`} title="Save" onClick={onSave}>
        <Icon name="down" />
      </button>
    </FileCard>
  );
}

/** A picture, small; a click shows it as large as the page. */
function PictureView({ attachment, files, onBroken }: AttachmentProps & { readonly onBroken: () => void }) {
  const { name = 'Picture' } = attachment;
  const dialog = useRef<HTMLDialogElement>(null);
  const [url, isFault] = usePicture({ attachment, files });
  if (isFault) return <SavedFile attachment={attachment} files={files} />;
  if (url === null) return <span className="picture waiting" role="img" aria-label={`${name}, loading`} />;
  return (
    <>
      <button
        type="button"
        className="picture-button"
        aria-label={`Show ${name}`}
        onClick={() => dialog.current?.showModal()}
      >
        <img className="picture" src={url} alt={name} onError={onBroken} />
      </button>
      <dialog ref={dialog} className="large" aria-label={name} {...LIGHT}>
        <img src={url} alt={name} />
        <p>
          <span>{name}</span>
          <a className="button" href={url} download={name}>
            Save
          </a>
          <button type="button" className="button quiet" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </p>
      </dialog>
    </>
  );
}

/** A click beside it closes it, where the browser can do that. */
const LIGHT = { closedby: 'any' } as const;

function usePicture({
  attachment: { ref, mime = '' },
  files,
}: AttachmentProps): readonly [url: string | null, isFault: boolean] {
  const [url, setUrl] = useState<string | null>(null);
  const [isFault, setFault] = useState(false);
  useEffect(() => {
    let made: string | null = null;
    let isLeft = false;
    files.read(ref).then(
      (blob) => {
        if (isLeft) return;
        // what was judged to be a picture is one for the browser too, whatever the answer says: its address can be opened
        made = URL.createObjectURL(new Blob([blob], { type: PICTURES.has(mime) ? mime : SAVED_TYPE }));
        setUrl(made);
      },
      () => setFault(true),
    );
    return () => {
      isLeft = true;
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [files, ref, mime]);
  return [url, isFault];
}

async function save(files: Pick<Files, 'read'>, { ref, name = 'file' }: Attachment): Promise<void> {
  // whatever it says that it is, it is bytes: nothing may be opened as a page of this origin
  const url = URL.createObjectURL(new Blob([await files.read(ref)], { type: SAVED_TYPE }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
}

/** The browser has begun to save by then. */
const REVOKE_MS = 10_000;
