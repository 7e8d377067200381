/** What codes mean, for people. */
const WORDS: Readonly<Record<string, string>> = {
  rate_limited: 'That was a little fast. It will be sent in a moment.',
  lane_full: 'There are too many messages waiting here. It will be sent in a moment.',
  tenant_queue_full: 'The assistant is very busy. It will be sent in a moment.',
  body_too_large: 'This message is too long.',
  invalid_field: 'This message could not be sent as it is.',
  upload_incomplete: 'A file of this message is not there any more. Attach it again.',
  file_count_exceeded: 'These are too many files for one message.',
  total_bytes_exceeded: 'These files are too large for one message. Send them in several.',
  session_not_found: 'You may not write here.',
  input_closed: 'This question is closed: it was answered, or its time is over.',
  nothing_to_stop: 'There is nothing of yours to stop.',
  idempotency_mismatch: 'This message could not be sent as it is.',
  '': 'Something went wrong. Please try again.',
};

const ENDS: Readonly<Record<string, string>> = {
  stopped: 'Stopped.',
  turn_timeout: 'The assistant took too long and was stopped.',
  inactivity_timeout: 'The assistant took too long and was stopped.',
  input_expired: 'The question was not answered in time.',
};

/** In clear words; what is not known gets those of the code `''`, which are always true. */
export function wordsFor(code: string, words: Readonly<Record<string, string>> = WORDS): string {
  return words[code] ?? words[''] ?? '';
}

/** Why a message got no answer. */
export function wordsForEnd(code: string | undefined): string {
  return ENDS[code ?? ''] ?? 'The assistant could not answer. Please try again.';
}
