import type { LoadProgress } from './run-load.ts';

const BAR_WIDTH = 24;

/** A one-line progress bar on a terminal; on anything else it prints nothing. */
export function createProgressLine(stream: NodeJS.WriteStream): { show(progress: LoadProgress): void; clear(): void } {
  if (!stream.isTTY) return { show: () => undefined, clear: () => undefined };
  return {
    show: (progress) => stream.write(`\r\u001b[2K${progressLine(progress)}`),
    clear: () => stream.write('\r\u001b[2K'),
  };
}

/** `sent` fills the bar, `answered` fills it darker. */
function progressLine({ planned, sent, accepted, answered, refused }: LoadProgress): string {
  const cells = (part: number) => Math.min(BAR_WIDTH, Math.round((part / Math.max(1, planned)) * BAR_WIDTH));
  const bar = '█'.repeat(cells(answered)).padEnd(cells(sent), '▒').padEnd(BAR_WIDTH, '·');
  const refusals = refused > 0 ? `  refused ${refused}` : '';
  return `${bar}  sent ${sent}/${planned}  accepted ${accepted}  answered ${answered}${refusals}`;
}
