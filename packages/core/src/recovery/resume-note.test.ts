import { expect, test } from 'vitest';
import { type NoteRequest, RESUME_NOTE_TEXTS, resumeNote } from './resume-note.ts';

const QUIET: NoteRequest = { pending: null, transcriptAgeMs: null, windowMs: 1000, lastRowRole: 'user', text: 'hi' };
const OLD = { reason: 'restart_timeout', ageMs: 1001 };

test('nothing was interrupted: no note', () => {
  expect(resumeNote(QUIET)).toBeNull();
});

test.each([
  ['restart_timeout', 'restart'],
  ['shutdown_timeout', 'shutdown'],
  ['restart_interrupted', 'interruption'],
  ['orphaned_tool_call', 'interruption'],
] as const)('%s is told as %s, once, whatever else stands in the transcript', (reason, note) => {
  const pending = { reason, ageMs: 1000 };
  expect(resumeNote({ ...QUIET, pending, lastRowRole: 'tool' })).toBe(note);
});

test('an interruption older than the window is told only while the conversation is fresh', () => {
  expect(resumeNote({ ...QUIET, pending: OLD, transcriptAgeMs: 1001 })).toBeNull();
  expect(resumeNote({ ...QUIET, pending: OLD, transcriptAgeMs: 1000 })).toBe('restart');
  expect(resumeNote({ ...QUIET, pending: OLD, transcriptAgeMs: 1001, windowMs: 0 })).toBe('restart');
});

test('a blank turn reaches the model as the note alone, or not at all', () => {
  expect(resumeNote({ ...QUIET, text: ' \n', pending: OLD, transcriptAgeMs: 9999 })).toBe('restored');
  expect(resumeNote({ ...QUIET, text: '', lastRowRole: 'tool' })).toBeNull();
});

test('results that nobody has answered are pointed at while they are fresh', () => {
  expect(resumeNote({ ...QUIET, lastRowRole: 'tool' })).toBe('pending_tool_output');
  expect(resumeNote({ ...QUIET, lastRowRole: 'tool', transcriptAgeMs: 1001 })).toBeNull();
});

test('every note says that it is the system’s', () => {
  for (const text of Object.values(RESUME_NOTE_TEXTS)) expect(text).toMatch(/^\[Note of the system: .+\]$/);
});
