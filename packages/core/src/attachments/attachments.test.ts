import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { cleanFileName } from './file-name.ts';
import { mediaTypeOf } from './media-type.ts';

describe('cleanFileName', () => {
  it.each([
    ['pier.png', 'pier.png'],
    ['C:\\Users\\me\\pier.png', 'pier.png'],
    ['../../etc/passwd', 'passwd'],
    ['a\u202egnp.exe', 'agnp.exe'],
    ['a\r\nb\0.txt', 'ab.txt'],
    ['  .. ', 'file'],
    ['', 'file'],
    ['Übersicht "2".pdf', 'Übersicht _2_.pdf'],
    [`${'x'.repeat(300)}.jpeg`, `${'x'.repeat(115)}.jpeg`],
  ])('%j is called %j', (given, expected) => {
    expect(cleanFileName(given)).toBe(expected);
  });

  test('whatever is given becomes a name of one part, short, and as it is when cleaned again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (given) => {
        const name = cleanFileName(given);
        expect(name).not.toMatch(/[/\\\p{Cc}]/u);
        expect(name.length).toBeGreaterThan(0);
        expect(name.length).toBeLessThanOrEqual(120);
        expect(name.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('mediaTypeOf', () => {
  const text = new TextEncoder().encode('hello');
  const binary = Uint8Array.of(0, 1, 2);
  it.each([
    {
      what: 'the bytes before the sender',
      sniffed: 'image/png',
      declared: 'text/html',
      mime: 'image/png',
      kind: 'image',
    },
    {
      what: 'the sender where the bytes are a packing',
      sniffed: 'application/zip',
      declared: 'application/epub+zip',
      mime: 'application/epub+zip',
    },
    { what: 'no picture that is only claimed', declared: 'image/png', head: text, mime: 'application/octet-stream' },
    {
      what: 'no picture in a packing either',
      sniffed: 'application/zip',
      declared: 'image/png',
      mime: 'application/zip',
    },
    { what: 'SVG as a file', declared: 'image/svg+xml', head: text, mime: 'image/svg+xml' },
    { what: 'the sender without parameters', declared: 'Text/CSV; charset=utf-8', head: text, mime: 'text/csv' },
    { what: 'text as text', head: text, mime: 'text/plain' },
    { what: 'nothing of what is no type', declared: 'x y\r\nset-cookie: a', mime: 'application/octet-stream' },
    { what: 'a film', sniffed: 'video/mp4', mime: 'video/mp4', kind: 'video' },
  ])('believes $what', ({ sniffed = null, declared = null, head = binary, mime, kind = 'file' }) => {
    expect(mediaTypeOf({ sniffed, declared, head })).toEqual({ mime, kind });
  });
});
