/**
 * Cursors of keyset lists. Opaque to callers: base64url of a JSON list behind a checksum that covers the list's name, so
 * that a cursor of another list, a cut or an altered one is refused. It grants nothing: rows are filtered by tenant anyway.
 */
import { AppError } from '../errors.ts';
import { digestId } from '../ids.ts';

const CHECK_LENGTH = 8;

/** The place after a row, for the list called `list`. */
export function encodeCursor(list: string, place: readonly string[]): string {
  const payload = JSON.stringify(place);
  const bytes = new TextEncoder().encode(checkOf(list, payload) + payload);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** The place that a cursor of this list names, one text per part of the shape. @throws AppError `invalid_cursor` */
export function decodeCursor(list: string, cursor: string, shape: readonly CursorPart[]): string[] {
  const text = textOf(cursor);
  const payload = text.slice(CHECK_LENGTH);
  const place = text.slice(0, CHECK_LENGTH) === checkOf(list, payload) ? placeOf(payload) : [];
  const fits = place.length === shape.length && shape.every((part, i) => PARTS[part].test(place[i] ?? ''));
  if (!fits || encodeCursor(list, place) !== cursor) throw refuse();
  return place;
}

/** What a part of a place may be, so that a forged one never reaches a statement. */
export type CursorPart = 'uuid' | 'time' | 'integer' | 'name';

const PARTS: Readonly<Record<CursorPart, RegExp>> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  time: /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(\.\d{1,6})?Z$/,
  integer: /^\d{1,18}$/,
  name: /^[a-z0-9][a-z0-9_-]{0,62}$/,
};

function checkOf(list: string, payload: string): string {
  return digestId('cursor', list, payload).slice(0, CHECK_LENGTH);
}

function textOf(cursor: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor) || cursor.length % 4 === 1) throw refuse();
  const bytes = Uint8Array.from(atob(cursor.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

function placeOf(payload: string): string[] {
  try {
    const place: unknown = JSON.parse(payload);
    return Array.isArray(place) && place.every((part) => typeof part === 'string') ? place : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function refuse(): AppError {
  return new AppError({
    code: 'invalid_cursor',
    message: 'This cursor was not made by this list. Start again without it.',
    fields: [{ pointer: '/cursor', code: 'invalid_cursor' }],
  });
}
