import type { TranscriptMessage } from './window.ts';

export interface RepairMessage extends TranscriptMessage {
  /** How an assistant message ended when it did not end well: its calls may never have been made. */
  readonly stopReason: 'error' | 'aborted' | null;
}

export interface RepairedTranscript<Message> {
  readonly messages: readonly Message[];
  readonly orphansDropped: number;
  readonly duplicatesDropped: number;
  readonly synthesized: number;
  /** A result was brought back to its call over a user's message. */
  readonly moved: boolean;
}

/**
 * Pairs every tool call with exactly one result (P11): results stand directly after their assistant message in the
 * order of its calls, whatever came between. A missing one is made by `synthesize`, but not for a message that ended
 * in an error or was aborted. A result that answers no call of its turn is dropped, as a duplicate when its call
 * occurred before, else as an orphan. Pairing is per turn, from one assistant message up to the next: a call id that
 * is used again later has a result of its own.
 */
export function repairTranscript<Message extends RepairMessage>(
  messages: readonly Message[],
  synthesize: (callId: string, assistant: Message) => Message,
): RepairedTranscript<Message> {
  const repaired: Message[] = [];
  const callsSeen = new Set<string>();
  const counts = { orphansDropped: 0, duplicatesDropped: 0, synthesized: 0 };
  let moved = false;
  for (const turn of turnsOf(messages)) {
    const unclaimed = new Set(turn.results);
    if (turn.assistant !== undefined) repaired.push(turn.assistant);
    for (const call of turn.assistant?.calls ?? []) {
      callsSeen.add(call);
      const result = turn.results.find((candidate) => candidate.callId === call && unclaimed.has(candidate));
      if (result !== undefined) {
        unclaimed.delete(result);
        repaired.push(result);
        moved ||= turn.afterUser.has(result);
      } else if (turn.assistant?.stopReason === null) {
        counts.synthesized++;
        repaired.push(synthesize(call, turn.assistant));
      }
    }
    for (const { callId } of unclaimed) {
      if (callId !== null && callsSeen.has(callId)) counts.duplicatesDropped++;
      else counts.orphansDropped++;
    }
    repaired.push(...turn.others);
  }
  return { messages: repaired, ...counts, moved };
}

interface Turn<Message> {
  /** Undefined for what stands before the first assistant message. */
  readonly assistant: Message | undefined;
  readonly results: Message[];
  readonly others: Message[];
  /** Results that stand behind a user's message. */
  readonly afterUser: Set<Message>;
}

function turnsOf<Message extends RepairMessage>(messages: readonly Message[]): Turn<Message>[] {
  let turn: Turn<Message> = { assistant: undefined, results: [], others: [], afterUser: new Set() };
  const turns = [turn];
  for (const message of messages) {
    if (message.role === 'assistant') {
      turn = { assistant: message, results: [], others: [], afterUser: new Set() };
      turns.push(turn);
    } else if (message.role === 'tool') {
      turn.results.push(message);
      if (turn.others.length > 0) turn.afterUser.add(message);
    } else {
      turn.others.push(message);
    }
  }
  return turns;
}
