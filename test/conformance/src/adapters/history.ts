import { type AssistantBlock, historyWindow, provenanceOf, repairTranscript, sanitizeCalls } from '@turnkeeper/core';
import { HISTORY_LIMIT_DEFAULT, HistoryQuerySchema } from '@turnkeeper/protocol';
import type { Adapters } from './adapter.ts';

interface WindowInput {
  blocks: { repeat: number; messages: Parameters<typeof historyWindow>[0] }[];
  limit: number;
  lastConsolidated: number;
}

interface RepairInput {
  messages: {
    role: 'assistant' | 'toolResult' | 'user';
    calls: string[];
    resultFor: string | null;
    stopReason: 'aborted' | 'error' | null;
  }[];
}

interface ProvenanceInput {
  role: RepairInput['messages'][number]['role'];
  existing: string | null;
  incoming: string;
}

interface CallsInput {
  blocks: { type: 'text' | 'toolCall'; name: string | null; hasArguments: boolean; attachments: number }[];
}

const SYNTHETIC = { role: 'tool', calls: [], stopReason: null } as const;
const roleOf = (role: RepairInput['messages'][number]['role']): RepairRow['role'] =>
  role === 'toolResult' ? 'tool' : role;
type RepairRow = Parameters<typeof repairTranscript>[0][number] & { readonly resultFor?: string | null };
const labelOf = ({ role, callId, resultFor }: RepairRow) =>
  role === 'tool' ? `toolResult:${callId}${resultFor === undefined ? ':synthetic' : ''}` : role;

export const historyAdapters: Adapters = {
  'api.historyLimit': ({ raw }: { raw: string | null }) => {
    const query = HistoryQuerySchema.safeParse(raw === null ? {} : { limit: raw });
    return query.success
      ? { status: 200, limit: query.data.limit ?? HISTORY_LIMIT_DEFAULT }
      : { status: 400, limit: null };
  },
  'history.window': (input: WindowInput) => {
    const messages = input.blocks.flatMap(({ repeat, messages }) => Array.from({ length: repeat }, () => messages));
    return historyWindow(messages.flat(), input);
  },
  'provenance.apply': ({ role, ...marks }: ProvenanceInput) => ({
    kind: provenanceOf({ ...marks, role: roleOf(role) }),
  }),
  'transcript.repair': (input: RepairInput) => {
    const rows = input.messages.map((row) => ({ ...row, role: roleOf(row.role), callId: row.resultFor }));
    const { messages, ...counts } = repairTranscript<RepairRow>(rows, (callId) => ({ ...SYNTHETIC, callId }));
    return { sequence: messages.map(labelOf), ...counts };
  },
  'transcript.sanitizeCalls': (input: CallsInput) => {
    const blocks = input.blocks.map(({ type, name, hasArguments, attachments }): AssistantBlock => {
      const given = { attachments: Array.from({ length: attachments }, () => ({ content: 'x' })) };
      return type === 'text' ? { type, text: '' } : { type, id: '', name, arguments: hasArguments ? given : null };
    });
    const sanitized = sanitizeCalls(blocks);
    const kept = sanitized.blocks.map(({ type }) => type);
    return { kept, messageKept: kept.length > 0, attachmentsRedacted: sanitized.attachmentsRedacted };
  },
};
