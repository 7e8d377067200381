import type { RunErrorCode } from '../errors.ts';
import { provenanceOf } from '../history/provenance.ts';
import type { ClaimedEvent, ClaimedTurn } from '../ports/lane.ts';
import type { EarlierEvent, EarlierRequest } from '../ports/transcripts.ts';

/** When conversations that no person takes part in stop (P10). */
export interface LoopLimits {
  /** Messages of bots that are answered, with none of a person between them, … */
  readonly botTurnsMax: number;
  /** … within this time. */
  readonly botWindowMs: number;
  /** Times that an answer may have been the next one's question before. */
  readonly hopsMax: number;
}

/** For agents that say nothing else. */
export const LOOP_DEFAULTS: LoopLimits = { botTurnsMax: 20, botWindowMs: 3_600_000, hopsMax: 16 };

/** Says with a message how many answers of agents led to it. Whoever hands an answer on as a message hands this on, too. */
export const HOPS_HEADER = 'turnkeeper-hops';

type Loop = Extract<RunErrorCode, 'bot_loop' | 'hop_budget' | 'tool_loop'>;

const KINDS: Readonly<Record<Loop, string>> = { bot_loop: 'bots', hop_budget: 'sessions', tool_loop: 'tools' };
/** Events looked at: those that were not answered stand between those that count. */
const LOOK_PER_TURN = 10;

/** Which kind of loop was stopped by an end with this code; null: it was none. */
export function loopKind(code: string | undefined): string | null {
  return code !== undefined && Object.hasOwn(KINDS, code) ? KINDS[code as Loop] : null;
}

/** Did a machine write it? Then nobody waits for a word: silence is an answer. */
export function isByMachine(event: Pick<ClaimedEvent, 'kind' | 'body'>): boolean {
  return writerOf(event) !== 'external_user';
}

/** Who is behind an event. Another platform's bot counts as another session: both are agents that answer answers. */
function writerOf({ kind, body }: Pick<ClaimedEvent, 'kind' | 'body'>): ReturnType<typeof provenanceOf> {
  const isAgent = body.source.isBot === true || hopsOf(body) > 0;
  const existing = kind === 'wake' ? 'internal_system' : null;
  return provenanceOf({ role: 'user', existing, incoming: isAgent ? 'inter_session' : 'external_user' });
}

/** How many answers of agents led to the message, one after the other; 0 for what a person said. */
function hopsOf({ hops }: { readonly hops?: number }): number {
  return hops ?? 0;
}

/** As `HOPS_HEADER` says it; what is no such number says nothing. */
export function hopsIn(header: string | readonly string[] | undefined): { readonly hops?: number } {
  const hops = typeof header === 'string' && /^[0-9]{1,4}$/.test(header) ? Number(header) : 0;
  return hops > 0 ? { hops } : {};
}

/** How many led to what a turn of these events answers. */
export function hopsOfTurn({ events }: Pick<ClaimedTurn, 'events'>): number {
  return Math.max(0, ...events.map(({ body }) => hopsOf(body)));
}

/** Messages of bots that were answered since a person last spoke. */
function botTurnsInARow(earlierNewestFirst: readonly EarlierEvent[]): number {
  const person = earlierNewestFirst.findIndex(({ byPerson }) => byPerson);
  const since = person === -1 ? earlierNewestFirst : earlierNewestFirst.slice(0, person);
  return since.filter(({ answered }) => answered).length;
}

/**
 * The budget that a turn is beyond, before its agent is asked; null: it may run. Both counts stand in rows: the hops in the
 * message itself, the answers in the lane's journal, so that no process, and no restart of one, forgets them. A person who
 * speaks ends the count at once, time does later. @throws StoreError
 */
export async function loopOf(
  turn: ClaimedTurn,
  { botTurnsMax, botWindowMs, hopsMax }: LoopLimits,
  earlierOf: (request: EarlierRequest) => Promise<readonly EarlierEvent[]>,
): Promise<'bot_loop' | 'hop_budget' | null> {
  if (hopsOfTurn(turn) > hopsMax) return 'hop_budget';
  const [first] = turn.events;
  if (first === undefined || !turn.events.every((event) => writerOf(event) === 'inter_session')) return null;
  const look = { withinMs: botWindowMs, limit: botTurnsMax * LOOK_PER_TURN };
  const before = await earlierOf({ lane: turn.lane, ord: first.ord, ...look });
  return botTurnsInARow(before) >= botTurnsMax ? 'bot_loop' : null;
}
