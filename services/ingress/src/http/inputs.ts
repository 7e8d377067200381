import { AppError, type InputId, type InputStore, parseId, type TenantId } from '@turnkeeper/core';
import { type InputAnswer, InputAnswerRequestSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { ControlledLane } from '../runs/announce-end.ts';
import type { Access } from './access.ts';
import { parseBody } from './requests.ts';

export interface AnsweringParts {
  readonly inputs: Pick<InputStore, 'answer'>;
  /** Tells a lane's owner that it has work, and those who watch it that the question is closed. */
  readonly announceControl: (controlled: ControlledLane) => void;
}

export interface InputParts extends AnsweringParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
}

/** `POST /v1/inputs/{id}/answer`: the first answer counts, and its turn goes on. */
export function registerInputs(app: FastifyInstance, parts: InputParts): void {
  const { access } = parts;
  const guard = { onRequest: access.requires('messages:write') };
  app.post<{ Params: { id: string } }>('/v1/inputs/:id/answer', guard, async (request): Promise<InputAnswer> => {
    const { text } = parseBody(InputAnswerRequestSchema, request.body);
    const { tenantId } = access.callerOf(request).tenant;
    const inputId = parseId<InputId>(request.params.id, 'inp');
    await answerInput(tenantId, { inputId, text }, parts);
    return { inputId: request.params.id, outcome: 'answered' };
  });
}

/** The first answer counts. @throws AppError `not_found`, `input_closed` */
export async function answerInput(
  tenantId: TenantId,
  { inputId, text }: { readonly inputId: InputId | null; readonly text: string },
  { inputs, announceControl }: AnsweringParts,
): Promise<void> {
  const answered = inputId === null ? null : await inputs.answer(tenantId, inputId, { text });
  if (answered?.result === 'answered') {
    announceControl({ ...answered, sessionId: null, turnId: null, ended: [] });
    return;
  }
  if (answered?.result === 'closed')
    throw new AppError({ code: 'input_closed', message: 'the question was answered, has expired or was withdrawn' });
  throw new AppError({ code: 'not_found', message: 'no such question' });
}
