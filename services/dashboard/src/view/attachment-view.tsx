import { useEffect, useState } from 'react';
import type { Attachment } from '../chat/conversation.ts';
import type { Files } from '../chat/files.ts';

/** Types that are shown as pictures: none that can carry a program, as SVG can. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

/** A file: a picture is shown, anything else is offered. It is read with the visitor's token. */
export function AttachmentView({ attachment, files }: { readonly attachment: Attachment; readonly files: Files }) {
  const { ref, name = 'File', mime } = attachment;
  const isPicture = PICTURES.has(mime ?? '');
  const [url, setUrl] = useState<string | null>(null);
  const [fault, setFault] = useState(false);
  useEffect(() => {
    if (!isPicture) return;
    let made: string | null = null;
    let isLeft = false;
    files.read(ref).then(
      (blob) => {
        made = URL.createObjectURL(blob);
        if (isLeft) URL.revokeObjectURL(made);
        else setUrl(made);
      },
      () => setFault(true),
    );
    return () => {
      isLeft = true;
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [files, ref, isPicture]);
  if (url !== null) return <img className="picture" src={url} alt={name} />;
  return (
    <button type="button" className="file" onClick={() => void save(files, { ref, name }).catch(() => setFault(true))}>
      {fault ? `${name} (cannot be opened)` : name}
    </button>
  );
}

async function save(files: Files, { ref, name }: { readonly ref: string; readonly name: string }): Promise<void> {
  const url = URL.createObjectURL(await files.read(ref));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
