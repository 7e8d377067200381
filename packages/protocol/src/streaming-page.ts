import { STREAM_EVENTS } from '@turnkeeper/core';

/** `docs/streaming.md`, made from the table of event types. */
export function streamingPage(): string {
  const rows = Object.entries(STREAM_EVENTS).map(
    ([type, { durable, visitors }]) => `| \`${type}\` | ${durable ? 'D' : 'E'} | ${visitors ? 'V' : ''} |`,
  );
  return [...TEXT, '| type | kind | visitors |', '|---|---|---|', ...rows, ''].join('\n');
}

const TEXT = [
  '# Streaming',
  '',
  'Made from `packages/protocol/src/streaming-page.ts` and the table of event types; a test compares.',
  '',
  '## Streams',
  '',
  '- `GET /v1/sessions/{session}/events`: server-sent events of a conversation (scope `sessions:read`).',
  '- `GET /v1/runs/{id}/events`, `POST /v1/messages?stream=true`: those of one run, from now on to its end.',
  '',
  '## Envelope',
  '',
  '`{v: 1, type, at, seq?, tenantId, sessionKey, sessionId, turnId?, attempt?, runIds?, data}`. As server-sent event:',
  '`event: <type>`, and `id:` on durable events only.',
  '',
  '## Durable and ephemeral',
  '',
  'Durable events (D) have the `seq` of the transaction that wrote them; all that it wrote share it. They are built from',
  'the rows, on any node, at any time: a stream that begins behind a seq brings what changed since, in order, in its',
  'present state. Ephemeral events (E) may be lost and are never sent again. `agentVersion` of a turn that still runs may',
  'be null.',
  '',
  'Go on with `Last-Event-ID` (or `?after=`, `?lastSeq=`, `?seq=`). Without a cursor a stream begins now; with 0 it',
  'begins at the beginning. An id is the seq, or `seq.n` while more events of the same seq are to come, so that a reader',
  'who is cut off between them misses none. A cursor that the lane has never reached is answered with `stream.reset` and',
  'everything from the beginning.',
  '',
  'Order: `stream.open` → what changed behind the cursor → `stream.replayed`, which also lists what is accepted and not',
  'yet claimed → `turn.snapshot` when a turn is under way and its worker answers within 200 ms → live.',
  '',
  'Deltas say `turnId`, `attempt`, `part` and `offset` (UTF-16 units from the start of the part). Another attempt: clear.',
  'An offset beyond what you have: a gap, go on. Before it: cut. `message.created` holds the whole text.',
  '',
  '## Filters',
  '',
  '`?types=a,b` only these; `?deltas=false` no deltas; `?tools=none` nothing about tools. `stream.*` always comes.',
  '',
  '## The end of a stream',
  '',
  'A comment comes every 15 s. A stream ends with `stream.closing {reason, reconnectAfterMs}`: `lifetime` after 55 min',
  '± 10 %, `drain` when its node goes, `revoked` with its key, `slow_consumer` when its reader does not keep up (deltas are',
  'left out first). When NATS is away durable events still come, at most a second late.',
  '',
  '## Events',
  '',
];
