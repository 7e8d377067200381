const UNITS = ['bytes', 'kB', 'MB', 'GB'] as const;

/** A size for people: `1 byte`, `12 kB`, `1.4 MB`. A kB is 1024 bytes, as those who set limits count. */
export function sizeWords(bytes: number): string {
  if (bytes === 1) return '1 byte';
  let size = bytes;
  let unit = 0;
  // what would be written as 1024 is one of the next
  while (Math.round(size) >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  const digits = unit > 0 && size < 10 ? 1 : 0;
  return `${Number(size.toFixed(digits))} ${UNITS[unit]}`;
}
