/** Questions of turns to people. */
import { z } from 'zod';
import { MessageTextSchema } from './messages.ts';

/** `POST /v1/inputs/{id}/answer` */
export const InputAnswerRequestSchema = z.strictObject({ text: MessageTextSchema });

export const InputAnswerSchema = z.strictObject({ inputId: z.string(), outcome: z.literal('answered') });
export type InputAnswer = z.infer<typeof InputAnswerSchema>;
