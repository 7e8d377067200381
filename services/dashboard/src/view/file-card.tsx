import type { ReactNode } from 'react';
import { Icon } from './icons.tsx';

export interface FileCardProps {
  readonly name: string;
  /** Its size, or what is the matter with it. */
  readonly about: string;
  readonly isFault?: boolean;
  /** Instead of a sign. */
  readonly picture?: ReactNode;
  /** What can be done with it. */
  readonly children?: ReactNode;
}

/** A file by its name. */
export function FileCard({ name, about, isFault = false, picture, children }: FileCardProps) {
  return (
    <div className="file" data-fault={isFault ? '' : undefined}>
      {picture ?? (
        <span className="file-sign">
          <Icon name="file" />
        </span>
      )}
      <span className="file-words">
        <b>{name}</b>
        <small>{about}</small>
      </span>
      {children}
    </div>
  );
}
