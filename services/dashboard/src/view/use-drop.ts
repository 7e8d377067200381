import { type DragEvent, useRef, useState } from 'react';

/** Files that are dragged over something: whether there are any now, and its handlers. */
export function useDrop(onFiles: (files: readonly File[]) => void) {
  const [isOver, setOver] = useState(false);
  // enter and leave come for every element inside as well
  const depth = useRef(0);
  const move = (by: 1 | -1) => (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth.current += by;
    setOver(depth.current > 0);
  };
  const handlers = {
    onDragEnter: move(1),
    onDragLeave: move(-1),
    onDragOver: (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      depth.current = 0;
      setOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      onFiles(Array.from(event.dataTransfer.files));
    },
  };
  return { isOver, handlers };
}

/** Text that is dragged is nobody's business here. */
function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer.types.includes('Files');
}
