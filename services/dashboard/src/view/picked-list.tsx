import { useEffect, useState } from 'react';
import type { Picked, PickedFiles } from '../chat/picked-files.ts';
import { sizeWords } from '../chat/size-words.ts';
import { FileCard } from './file-card.tsx';
import { Icon } from './icons.tsx';

/** The files of the message that is being written. */
export function PickedList({ picked, files }: { readonly picked: readonly Picked[]; readonly files: PickedFiles }) {
  if (picked.length === 0) return null;
  return (
    <ul className="picked" aria-label="Files of this message">
      {picked.map((one) => (
        <li key={one.key}>
          <FileCard
            name={one.file.name}
            about={aboutOf(one)}
            isFault={one.state === 'failed'}
            picture={<Thumbnail file={one.file} />}
          >
            {one.state === 'failed' && one.isPassing && (
              <button
                type="button"
                className="icon"
                aria-label={`Send ${one.file.name} again`}
                title="Try again"
                onClick={() => files.retry(one.key)}
              >
                <Icon name="again" />
              </button>
            )}
            <button
              type="button"
              className="icon"
              aria-label={`Remove ${one.file.name}`}
              title="Remove"
              onClick={() => files.remove(one.key)}
            >
              <Icon name="close" />
            </button>
            {one.state === 'sending' && (
              <progress max={1} value={one.progress} aria-label={`Sending ${one.file.name}`} />
            )}
          </FileCard>
        </li>
      ))}
    </ul>
  );
}

function aboutOf({ state, progress, file, fault }: Picked): string {
  if (state === 'failed') return fault ?? '';
  return state === 'sent' ? sizeWords(file.size) : `${Math.floor(progress * 100)} % of ${sizeWords(file.size)}`;
}

/** As an image no file can do anything, whatever it is; what is none has a sign. */
function Thumbnail({ file }: { readonly file: File }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!/^image\/(png|jpeg|gif|webp|avif)$/.test(file.type)) return;
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return (
    <span className="file-sign">
      {url === null ? <Icon name="file" /> : <img src={url} alt="" onError={() => setUrl(null)} />}
    </span>
  );
}
