import { AppError, type InputId, type InputStore, parseId } from '@turnkeeper/core';
import { type InputAnswer, InputAnswerRequestSchema } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import type { ControlledLane } from '../runs/announce-end.ts';
import type { Access } from './access.ts';
import { parseBody } from './requests.ts';

export interface InputParts {
  readonly access: Pick<Access, 'requires' | 'callerOf'>;
  readonly inputs: Pick<InputStore, 'answer'>;
  /** Tells a lane's owner that it has work, and those who watch it that the question is closed. */
  readonly announceControl: (controlled: ControlledLane) => void;
}

/** `POST /v1/inputs/{id}/answer`: the first answer counts, and its turn goes on. */
export function registerInputs(app: FastifyInstance, { access, inputs, announceControl }: InputParts): void {
  const guard = { onRequest: access.requires('messages:write') };
  app.post<{ Params: { id: string } }>('/v1/inputs/:id/answer', guard, async (request): Promise<InputAnswer> => {
    const { text } = parseBody(InputAnswerRequestSchema, request.body);
    const { tenantId } = access.callerOf(request).tenant;
    const inputId = parseId<InputId>(request.params.id, 'inp');
    const answered = inputId === null ? null : await inputs.answer(tenantId, inputId, { text });
    if (answered?.result === 'answered') {
      announceControl({ ...answered, sessionId: null, turnId: null, ended: [] });
      return { inputId: request.params.id, outcome: 'answered' };
    }
    if (answered?.result !== 'closed') {
      throw new AppError({ code: 'not_found', message: 'no such question' });
    }
    throw new AppError({ code: 'input_closed', message: 'the question was answered, has expired or was withdrawn' });
  });
}
